import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { State } from '../../../shared/State';
import { When } from '../../../shared/Ago';
import { useJob } from '../useJob';
import { sections } from './sections';

export default function Configuration() {
  const job = useJob();
  const query = useQuery({
    queryKey: ['job', job.id, 'specs', job.spec_number],
    queryFn: ({ signal }) =>
      answered(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: job.id, number: job.spec_number } }, signal })),
  });
  return (
    <Answered query={query} height={320}>
      {(spec) => (
        <>
          <Panel title="Job">
            <Facts
              of={[
                ['Description', job.description],
                ['Labels', Object.entries(job.labels).map(([name, value]) => `${name}=${value}`).join(', ')],
                ['Wanted', <State key="wanted" of="desired" is={job.desired_state} />],
                ['Version in force', `${spec.number}${spec.comment ? `: ${spec.comment}` : ''}`],
                ['Its code', <State key="code" of="spec" is={spec.state} />],
                ['Deployed', <When key="deployed" at={job.created_at} />],
                ['Version made', <When key="made" at={spec.created_at} />],
              ]}
            />
          </Panel>
          {sections(spec.body).map(({ title, facts }) => (
            <Panel key={title} title={title}><Facts of={facts} /></Panel>
          ))}
        </>
      )}
    </Answered>
  );
}
