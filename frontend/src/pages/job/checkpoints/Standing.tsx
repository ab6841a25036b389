import type { ReactNode } from 'react';

import type { Schemas } from '../../../api/types';
import { useCan } from '../../../auth/useCan';
import { bytes, count, counted, duration } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { Verb } from '../../../shared/Verb';
import { beganAt } from '../recovery/lineage';
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

function factsOf({ counts, latest_completed, latest_failed, latest_savepoint, latest_restore }: Of): [string, ReactNode][] {
  return [
    ['Kept in the history', `${count(counts.completed)} completed (${counted(counts.savepoints, 'savepoint')}), ${count(counts.failed)} failed, ${count(counts.in_progress)} in progress`],
    ['Last completed', latest_completed && <Newest of={latest_completed} />],
    ['Last savepoint', latest_savepoint && <Newest of={latest_savepoint} />],
    ['Last failed', latest_failed && <>No. {latest_failed.number}, <Ago at={latest_failed.failed_at} />: {latest_failed.failure}</>],
    ['Latest restore', latest_restore && <Latest of={latest_restore} />],
  ];
}

function Newest({ of }: { of: Checkpoint }) {
  return <>No. {of.number}, <Ago at={of.completed_at} />, in {duration(of.end_to_end_ms)}, {bytes(of.state_bytes)}</>;
}

/** What the job goes on from: one of its own, or a copy of what was elsewhere. */
function Latest({ of: { run, cause, at, checkpoint, is_savepoint, path } }: { of: Schemas['RestoreBody'] }) {
  const elsewhere = path === null ? null : beganAt({ start: { mode: 'path', path } });
  return (
    <>
      {elsewhere?.at === 'elsewhere' ? <>{elsewhere.number === null ? 'a checkpoint' : `No. ${elsewhere.number}`} in <code>{elsewhere.path}</code></> : <>No. {checkpoint}{is_savepoint && ' (savepoint)'}</>}
      , <Ago at={at} />, by run {run} ({cause})
    </>
  );
}
