import type { ReactNode } from 'react';

import type { Schemas } from '../../../api/types';
import { useCan } from '../../../auth/useCan';
import { bytes, count, counted, duration } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { Verb } from '../../../shared/Verb';
import { useJob } from '../useJob';
import { takeable } from './allowed';
import { useSummary } from './useSeries';
import { useTake } from './useTake';

type Of = Schemas['JobSummaryBody'];
type Checkpoint = Schemas['CheckpointBody'];

/** How many there are, and the newest of each kind. */
export function Standing() {
  const query = useSummary();
  return (
    <Panel title="Overview" actions={<Take />}>
      <Answered query={query}>{(summary) => <Facts of={factsOf(summary)} />}</Answered>
    </Panel>
  );
}

function Take() {
  const job = useJob();
  const { take, isPending } = useTake();
  if (!useCan('operate')) return null;
  const why = isPending ? 'It is being asked for.' : takeable(job);
  return (
    <>
      <Verb label="Trigger checkpoint" why={why} onClick={() => take('checkpoint')} />
      <Verb label="Take savepoint" why={why} onClick={() => take('savepoint')} />
    </>
  );
}

function factsOf({ counts, latest_completed, latest_failed, latest_savepoint }: Of): [string, ReactNode][] {
  return [
    ['Kept in the history', `${count(counts.completed)} completed (${counted(counts.savepoints, 'savepoint')}), ${count(counts.failed)} failed, ${count(counts.in_progress)} in progress`],
    ['Last completed', latest_completed && <Newest of={latest_completed} />],
    ['Last savepoint', latest_savepoint && <Newest of={latest_savepoint} />],
    ['Last failed', latest_failed && <>{latest_failed.number}, <Ago at={latest_failed.failed_at} />: {latest_failed.failure}</>],
  ];
}

function Newest({ of }: { of: Checkpoint }) {
  return <>{of.number}, <Ago at={of.completed_at} />, in {duration(of.end_to_end_ms)}, {bytes(of.state_bytes)}</>;
}
