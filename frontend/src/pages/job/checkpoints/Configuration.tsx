import { QueryContent } from '../../../shared/DataStates';
import { DescriptionList } from '../../../shared/DescriptionList';
import { Panel } from '../../../shared/Panel';
import { useJob, useSpec } from '../useJob';
import { checkpointSettings } from './settings';

export function Configuration() {
  const { spec_number } = useJob();
  const query = useSpec();
  return (
    <Panel title={`Configuration of version ${spec_number}`}>
      <QueryContent query={query}>{(spec) => <DescriptionList items={checkpointSettings(spec.body)} />}</QueryContent>
    </Panel>
  );
}
