/** One line over the graph: which checkpoint is shown, how far it is, and who holds it. */
import { Box } from '@mui/material';
import type { ReactNode } from 'react';

import { duration } from '../../../format';
import { useStore } from '../../../live/store';
import { Ago } from '../../../shared/Ago';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';
import { AT_REST } from '../verbs';
import type { PhysicalGraph } from './graph';
import { holderIn } from './holderAt';
import type { Wave } from './wavefront';
import type { LiveStore, ReplayStore } from './waveSource';
import { holderSentence } from './words';

export function LiveLine({ store, graph }: { store: LiveStore; graph: PhysicalGraph }) {
  const { checkpoint, wave, tookMs, reason } = useStore(store, (live) => live);
  if (!checkpoint || !wave) return <Line><Stored /></Line>;
  const name = <b>Checkpoint {checkpoint.number}</b>;
  const kind = checkpoint.trigger && <span>({checkpoint.trigger})</span>;
  if (wave.end === 'completed') return <Line>{name} {kind} <State of="checkpoint" is="COMPLETED" /> {tookMs !== null && <span>in {duration(tookMs)}</span>}</Line>;
  if (wave.end === 'failed') return <Line>{name} {kind} <State of="checkpoint" is="FAILED" /> <span>{reason}</span></Line>;
  return <Line>{name} {kind} <State of="checkpoint" is="IN_PROGRESS" /> <Standing wave={wave} graph={graph} /></Line>;
}

/** Of a job whose stream has told of no checkpoint: it may have ended before the page was opened, or not run at all. */
function Stored() {
  const { state, last_checkpoint: last } = useJob();
  const rests = AT_REST.has(state);
  if (!last) return <span>{rests ? 'The job does not run, and none of its checkpoints has completed.' : 'No checkpoint has completed yet. Barriers are shown here as soon as one begins.'}</span>;
  const completed = <>completed in {duration(last.end_to_end_ms)}, <Ago at={last.completed_at} /></>;
  return rests
    ? <span>The job does not run. Its last checkpoint, <b>{last.number}</b>, {completed}.</span>
    : <span><b>Checkpoint {last.number}</b> {completed}. Barriers are shown here as soon as the next one begins.</span>;
}

export function ReplayLine({ store, graph, number }: { store: ReplayStore; graph: PhysicalGraph; number: number }) {
  const wave = useStore(store, (replay) => replay.wave);
  const { end, exact } = useStore(store, (replay) => replay.script);
  return (
    <Line>
      <b>Checkpoint {number}</b> <State of="plan" is="WITHDRAWN" label="replay" />
      {wave.end === null ? <Standing wave={wave} graph={graph} /> : <State of="checkpoint" is={end === 'completed' ? 'COMPLETED' : 'FAILED'} />}
      {!exact && <span>Only acknowledgements are known of it; the rest is inferred.</span>}
    </Line>
  );
}

function Standing({ wave, graph }: { wave: Wave; graph: PhysicalGraph }) {
  const holder = holderIn(wave);
  return (
    <>
      <span>{wave.acknowledged} of {wave.topology.count} acknowledged after {duration(wave.atMs)}</span>
      {holder && <Box component="span" sx={{ color: 'text.primary', minWidth: 0 }}>{holderSentence(holder, graph, wave.topology, wave.exact)}</Box>}
    </>
  );
}

function Line({ children }: { children: ReactNode }) {
  // Two lines high whatever is said, so that the graph below does not jump ten times a second.
  return (
    <Box data-testid="wave-line" sx={{ display: 'flex', flexWrap: 'wrap', alignContent: 'center', alignItems: 'baseline', columnGap: 1.25, px: 2, py: 0.5, minHeight: 50, color: 'text.secondary', fontVariantNumeric: 'tabular-nums', '& b': { color: 'text.primary' } }}>
      {children}
    </Box>
  );
}
