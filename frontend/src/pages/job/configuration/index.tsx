import { AbsoluteTime } from '../../../shared/Time';
import { QueryContent } from '../../../shared/DataStates';
import { DescriptionList } from '../../../shared/DescriptionList';
import { Panel } from '../../../shared/Panel';
import { StateChip } from '../../../shared/StateChip';
import { useJob, useSpec } from '../useJob';
import { sections } from './sections';

export default function Configuration() {
  const job = useJob();
  const query = useSpec();
  return (
    <QueryContent query={query} height={320}>
      {(spec) => (
        <>
          <Panel title="Job">
            <DescriptionList
              items={[
                ['Description', job.description],
                ['Labels', Object.entries(job.labels).map(([name, value]) => `${name}=${value}`).join(', ')],
                ['Desired state', <StateChip key="desired" kind="desired" state={job.desired_state} />],
                ['Current version', `${spec.number}${spec.comment ? `: ${spec.comment}` : ''}`],
                ['Code', <StateChip key="code" kind="spec" state={spec.state} />],
                ['Deployed', <AbsoluteTime key="deployed" at={job.created_at} />],
                ['Version created', <AbsoluteTime key="created" at={spec.created_at} />],
              ]}
            />
          </Panel>
          {sections(spec.body).map(({ title, facts }) => (
            <Panel key={title} title={title}><DescriptionList items={facts} /></Panel>
          ))}
        </>
      )}
    </QueryContent>
  );
}
