/** The checkpoint that the stream of the job tells of, as a wavefront: a pure reducer. */
import type { JobLive } from '../../../live/jobLive';
import { subtaskOf, type Topology } from './topology';
import { ACKNOWLEDGED, beginWave, nextWave, type Fact, type Wave } from './wavefront';

export interface LiveWave {
  topology: Topology;
  wave: Wave | null;
  /** Null: none was told of yet. */
  checkpoint: { number: number; runId: number | null; id: number | null; trigger: string } | null;
  /** When it was triggered, by the clock of the server. */
  triggeredMs: number;
  /** Of one that is over, as the driver measured it. */
  tookMs: number | null;
  reason: string;
}

export type LiveNews = { type: 'told'; job: Pick<JobLive, 'progress' | 'ended' | 'events'>; nowMs: number } | { type: 'clock'; nowMs: number };

/** So far apart two clocks may be before what they say of the past is believed. */
const SKEW_MS = 2_000;

export function noWave(topology: Topology): LiveWave {
  return { topology, wave: null, checkpoint: null, triggeredMs: 0, tookMs: null, reason: '' };
}

export function nextLive(live: LiveWave, news: LiveNews): LiveWave {
  if (news.type === 'clock') {
    if (live.wave === null || live.wave.end !== null) return live;
    return { ...live, wave: nextWave(live.wave, { type: 'clock', atMs: news.nowMs - live.triggeredMs }) };
  }
  return ending(progressed(live, news.job, news.nowMs), news.job);
}

function progressed(live: LiveWave, { progress }: Pick<JobLive, 'progress'>, nowMs: number): LiveWave {
  if (progress === null) return live;
  const { checkpoint, checkpoint_id, run_id, trigger, triggered_at } = progress;
  const same = live.checkpoint?.number === checkpoint && (live.checkpoint.runId === run_id || live.checkpoint.runId === null);
  // Another run may have gone back and count from an older number on.
  if (!same && live.checkpoint?.runId === run_id && checkpoint < live.checkpoint.number) return live;
  if (same && live.wave?.end) return live.checkpoint?.id === checkpoint_id ? live : { ...live, checkpoint: { number: checkpoint, runId: run_id, id: checkpoint_id, trigger } };
  const lastMs = progress.progress.reduce((last, [, , atMs]) => Math.max(last, atMs!), 0);
  // By the clock of this browser, as the driver's may be another: it cannot have begun later than what was heard says.
  const saidMs = Date.parse(triggered_at);
  const heardMs = Math.min(nowMs - lastMs, nowMs - saidMs > SKEW_MS ? saidMs : nowMs);
  const triggeredMs = same ? Math.min(live.triggeredMs, heardMs) : heardMs;
  const facts = progress.progress.flatMap(([chain, index, atMs]): Fact[] => {
    const subtask = subtaskOf(live.topology, chain!, index!);
    return subtask === null ? [] : [{ subtask, step: ACKNOWLEDGED, atMs: atMs! }];
  });
  const before = same && live.wave ? live.wave : beginWave(live.topology, { exact: false });
  const wave = nextWave(before, { type: 'facts', facts, atMs: nowMs - triggeredMs });
  if (same && wave === live.wave) return live;
  return { ...live, wave, triggeredMs, checkpoint: { number: checkpoint, runId: run_id, id: checkpoint_id, trigger }, tookMs: null, reason: '' };
}

/** Most are over before anything of them was told: then there is only their end. */
function ending(live: LiveWave, { ended, events }: Pick<JobLive, 'ended' | 'events'>): LiveWave {
  if (ended === null || (live.checkpoint !== null && ended.checkpoint < live.checkpoint.number)) return live;
  const known = live.checkpoint?.number === ended.checkpoint;
  if (known && live.wave?.end) return live;
  const fields = events.findLast(({ kind, fields: { checkpoint } }) => kind.startsWith('Checkpoint') && checkpoint === ended.checkpoint)?.fields ?? {};
  const tookMs = typeof fields.end_to_end_ms === 'number' ? fields.end_to_end_ms : null;
  const before = known && live.wave ? live.wave : beginWave(live.topology, { exact: false });
  const wave = nextWave(before, { type: 'end', how: ended.how, atMs: tookMs ?? before.atMs });
  const checkpoint = known ? live.checkpoint : { number: ended.checkpoint, runId: null, id: null, trigger: typeof fields.trigger === 'string' ? fields.trigger : '' };
  return { ...live, wave, checkpoint, tookMs, reason: ended.reason };
}
