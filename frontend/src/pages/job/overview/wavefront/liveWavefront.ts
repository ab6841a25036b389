/** A pure reducer that turns the checkpoint from the job's stream into a wavefront. */
import type { JobLive } from '../../../../live/jobLive';
import { subtaskNumber, type Topology } from './topology';
import { ACKNOWLEDGED, initialWavefront, reduceWavefront, type StepChange, type Wavefront } from './wavefront';

export interface LiveWavefront {
  topology: Topology;
  wave: Wavefront | null;
  /** The displayed checkpoint. Null if the stream has not reported a checkpoint yet. */
  checkpoint: { number: number; runId: number | null; id: number | null; trigger: string } | null;
  /** The time of the trigger by the server's clock. */
  triggeredMs: number;
  /** The duration that the driver measured. Null until the checkpoint ends. */
  tookMs: number | null;
  reason: string;
}

export type LiveWavefrontAction = { type: 'stream'; job: Pick<JobLive, 'progress' | 'outcome' | 'events'>; nowMs: number } | { type: 'clock'; nowMs: number };

/** The assumed maximum difference between the clocks of driver and browser. A reported trigger time is used only if its age exceeds this value. */
const CLOCK_SKEW_MS = 2_000;

export function initialLiveWavefront(topology: Topology): LiveWavefront {
  return { topology, wave: null, checkpoint: null, triggeredMs: 0, tookMs: null, reason: '' };
}

export function reduceLiveWavefront(live: LiveWavefront, action: LiveWavefrontAction): LiveWavefront {
  if (action.type === 'clock') {
    if (live.wave === null || live.wave.end !== null) return live;
    return { ...live, wave: reduceWavefront(live.wave, { type: 'clock', atMs: action.nowMs - live.triggeredMs }) };
  }
  return applyEnd(applyProgress(live, action.job, action.nowMs), action.job);
}

function applyProgress(live: LiveWavefront, { progress }: Pick<JobLive, 'progress'>, nowMs: number): LiveWavefront {
  if (progress === null) return live;
  const { checkpoint, checkpoint_id, run_id, trigger, triggered_at } = progress;
  const same = live.checkpoint?.number === checkpoint && (live.checkpoint.runId === run_id || live.checkpoint.runId === null);
  // Ignore late progress of an older checkpoint. Checkpoint numbers increase from run to run, also after a rollback.
  if (live.checkpoint !== null && checkpoint < live.checkpoint.number) return live;
  if (same && live.wave?.end) return live.checkpoint?.id === checkpoint_id ? live : { ...live, checkpoint: { number: checkpoint, runId: run_id, id: checkpoint_id, trigger } };
  const lastMs = progress.progress.reduce((last, [, , atMs]) => Math.max(last, atMs!), 0);
  // The clocks of driver and browser can differ. Choose a trigger time for which all acknowledgements are in the past.
  const reportedMs = Date.parse(triggered_at);
  const latestStartMs = Math.min(nowMs - lastMs, nowMs - reportedMs > CLOCK_SKEW_MS ? reportedMs : nowMs);
  const triggeredMs = same ? Math.min(live.triggeredMs, latestStartMs) : latestStartMs;
  const facts = progress.progress.flatMap(([chain, index, atMs]): StepChange[] => {
    const subtask = subtaskNumber(live.topology, chain!, index!);
    return subtask === null ? [] : [{ subtask, step: ACKNOWLEDGED, atMs: atMs! }];
  });
  const before = same && live.wave ? live.wave : initialWavefront(live.topology, { exact: false });
  const wave = reduceWavefront(before, { type: 'facts', facts, atMs: nowMs - triggeredMs });
  if (same && wave === live.wave) return live;
  return { ...live, wave, triggeredMs, checkpoint: { number: checkpoint, runId: run_id, id: checkpoint_id, trigger }, tookMs: null, reason: '' };
}

/** Add the end of a checkpoint to the wavefront. Many checkpoints end before the stream reports their progress, so only their end is known. */
function applyEnd(live: LiveWavefront, { outcome, events }: Pick<JobLive, 'outcome' | 'events'>): LiveWavefront {
  if (outcome === null || (live.checkpoint !== null && outcome.checkpoint < live.checkpoint.number)) return live;
  const known = live.checkpoint?.number === outcome.checkpoint;
  if (known && live.wave?.end) return live;
  const fields = events.findLast(({ kind, fields: { checkpoint } }) => kind.startsWith('Checkpoint') && checkpoint === outcome.checkpoint)?.fields ?? {};
  const tookMs = typeof fields.end_to_end_ms === 'number' ? fields.end_to_end_ms : null;
  const before = known && live.wave ? live.wave : initialWavefront(live.topology, { exact: false });
  const wave = reduceWavefront(before, { type: 'end', outcome: outcome.result, atMs: tookMs ?? before.atMs });
  const checkpoint = known ? live.checkpoint : { number: outcome.checkpoint, runId: null, id: null, trigger: typeof fields.trigger === 'string' ? fields.trigger : '' };
  return { ...live, wave, checkpoint, tookMs, reason: outcome.reason };
}
