/** A text above the graph that describes the displayed checkpoint, its progress and its blocking subtask. */
import { Box } from '@mui/material';
import type { ReactNode } from 'react';

import type { Schemas } from '../../../../api/types';
import { duration } from '../../../../format';
import { useStore } from '../../../../live/store';
import { RelativeTime } from '../../../../shared/Time';
import { StateChip } from '../../../../shared/StateChip';
import type { PhysicalGraph } from '../../physicalGraph';
import { useJob } from '../../useJob';
import { blockerOf, blockerText } from './blockingSubtask';
import type { Wavefront } from './wavefront';
import type { LiveStore, ReplayStore } from './wavefrontSource';

const STOPPED_STATES = new Set<Schemas['RunState']>(['CREATED', 'FINISHED', 'SUSPENDED', 'CANCELED', 'FAILED']);

export function LiveStatus({ store, graph }: { store: LiveStore; graph: PhysicalGraph }) {
  const { checkpoint, wave, tookMs, reason } = useStore(store, (live) => live);
  if (!checkpoint || !wave) return <StatusLine><LastCheckpoint /></StatusLine>;
  const name = <b>Checkpoint {checkpoint.number}</b>;
  const kind = checkpoint.trigger && <span>({checkpoint.trigger})</span>;
  if (wave.end === 'completed') return <StatusLine>{name} {kind} <StateChip kind="checkpoint" state="COMPLETED" /> {tookMs !== null && <span>in {duration(tookMs)}</span>}</StatusLine>;
  if (wave.end === 'failed') return <StatusLine>{name} {kind} <StateChip kind="checkpoint" state="FAILED" /> <span>{reason}</span></StatusLine>;
  return <StatusLine>{name} {kind} <StateChip kind="checkpoint" state="IN_PROGRESS" /> <Progress wave={wave} graph={graph} /></StatusLine>;
}

/** The text that is shown before the stream reports a checkpoint. */
function LastCheckpoint() {
  const { state, last_checkpoint: last } = useJob();
  const stopped = STOPPED_STATES.has(state);
  if (!last) return <span>{stopped ? 'The job is not running and has no completed checkpoint.' : 'No completed checkpoint yet. Barriers appear here when a checkpoint begins.'}</span>;
  const completed = <>completed in {duration(last.end_to_end_ms)}, <RelativeTime at={last.completed_at} /></>;
  return stopped
    ? <span>The job is not running. Its last checkpoint, <b>{last.number}</b>, {completed}.</span>
    : <span><b>Checkpoint {last.number}</b> {completed}. Barriers appear here when the next checkpoint begins.</span>;
}

export function ReplayStatus({ store, graph, number }: { store: ReplayStore; graph: PhysicalGraph; number: number }) {
  const wave = useStore(store, (replay) => replay.wave);
  const { end, exact } = useStore(store, (replay) => replay.recording);
  return (
    <StatusLine>
      <b>Checkpoint {number}</b> <StateChip kind="plan" state="DISCARDED" label="replay" />
      {wave.end === null ? <Progress wave={wave} graph={graph} /> : <StateChip kind="checkpoint" state={end === 'completed' ? 'COMPLETED' : 'FAILED'} />}
      {!exact && <span>The steps are inferred from acknowledgements.</span>}
    </StatusLine>
  );
}

function Progress({ wave, graph }: { wave: Wavefront; graph: PhysicalGraph }) {
  const blocker = blockerOf(wave);
  return (
    <>
      <span>{wave.acknowledged} of {wave.topology.count} acknowledged after {duration(wave.atMs)}</span>
      {blocker && <Box component="span" sx={{ color: 'text.primary', minWidth: 0 }}>{blockerText(blocker, graph, wave.topology, wave.exact)}</Box>}
    </>
  );
}

function StatusLine({ children }: { children: ReactNode }) {
  // The text is always two lines high, so that the graph below it does not move when the text changes.
  return (
    <Box data-testid="checkpoint-status" sx={{ display: 'flex', flexWrap: 'wrap', alignContent: 'center', alignItems: 'baseline', columnGap: 1.25, px: 2, py: 0.5, minHeight: 50, color: 'text.secondary', fontVariantNumeric: 'tabular-nums', '& b': { color: 'text.primary' } }}>
      {children}
    </Box>
  );
}
