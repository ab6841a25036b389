import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { useJob } from '../useJob';
import { useSpec } from '../useSpec';
import { settings } from './settings';

export function Configuration() {
  const { spec_number } = useJob();
  const query = useSpec();
  return (
    <Panel title={`Configuration of version ${spec_number}`}>
      <Answered query={query}>{(spec) => <Facts of={settings(spec.body)} />}</Answered>
    </Panel>
  );
}
