import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { useJob } from '../useJob';
import { settings } from './settings';

export function Configuration() {
  const { id, spec_number } = useJob();
  const query = useQuery({
    queryKey: ['job', id, 'specs', spec_number],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: id, number: spec_number } }, signal })),
  });
  return (
    <Panel title={`Configuration of version ${spec_number}`}>
      <Answered query={query}>{(spec) => <Facts of={settings(spec.body)} />}</Answered>
    </Panel>
  );
}
