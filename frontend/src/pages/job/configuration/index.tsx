import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { State } from '../../../shared/State';
import { When } from '../../../shared/Ago';
import { useJob } from '../useJob';
import { useSpec } from '../useSpec';
import { sections } from './sections';

export default function Configuration() {
  const job = useJob();
  const query = useSpec();
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
