/**
 * One checkpoint as it goes through the subtasks: a pure state machine. A subtask only ever goes forward:
 *
 *     waiting -> aligning -> snapshotted -> acknowledged
 *
 * `aligning`: a barrier has come, not yet from everybody. `snapshotted`: the barrier has passed it; its state is being written.
 * Of a running checkpoint only acknowledgements are told. What follows from them is inferred: a barrier comes from all inputs before it
 * goes on, so it has passed all who stand before, and is on its way to all who stand behind. Of a completed one the rest was measured.
 */
import { eachNeighbour, type Topology } from './topology';

export const STEPS = ['waiting', 'aligning', 'snapshotted', 'acknowledged'] as const;
export type Step = (typeof STEPS)[number];
export const WAITING = 0;
export const ALIGNING = 1;
export const SNAPSHOTTED = 2;
export const ACKNOWLEDGED = 3;

/** `atMs`: after the trigger. */
export interface Fact {
  subtask: number;
  step: number;
  atMs: number;
}

export interface Wave {
  topology: Topology;
  /** Everything is told (a replay of what was measured); otherwise what follows is inferred. */
  exact: boolean;
  /** Of each subtask: where it stands in STEPS, since when, and when the barrier passed it (NaN: not yet). */
  steps: Uint8Array;
  sinceMs: Float64Array;
  passedMs: Float64Array;
  /** How long after the trigger this is. */
  atMs: number;
  acknowledged: number;
  end: 'completed' | 'failed' | null;
}

export type WaveNews =
  | { type: 'facts'; facts: readonly Fact[]; atMs: number }
  | { type: 'clock'; atMs: number }
  | { type: 'end'; how: 'completed' | 'failed'; atMs: number };

export function beginWave(topology: Topology, { exact }: { exact: boolean }): Wave {
  const { count } = topology;
  return {
    topology, exact, steps: new Uint8Array(count), sinceMs: new Float64Array(count), passedMs: new Float64Array(count).fill(NaN), atMs: 0, acknowledged: 0, end: null,
  };
}

export function nextWave(wave: Wave, news: WaveNews): Wave {
  if (wave.end !== null) return wave;
  // Clocks of several machines: time does not run backwards here.
  const atMs = Math.max(wave.atMs, news.atMs);
  switch (news.type) {
    case 'clock':
      return atMs === wave.atMs ? wave : { ...wave, atMs };
    case 'facts': {
      const told = news.facts.filter(({ subtask, step }) => subtask < wave.topology.count && step > wave.steps[subtask]!);
      if (told.length === 0) return atMs === wave.atMs ? wave : { ...wave, atMs };
      const after = copy(wave, atMs);
      for (const fact of told) take(after, fact);
      return after;
    }
    case 'end': {
      if (news.how === 'failed') return { ...wave, atMs, end: 'failed' };
      const after = copy(wave, atMs);
      for (let subtask = 0; subtask < after.steps.length; subtask += 1) take(after, { subtask, step: ACKNOWLEDGED, atMs });
      after.end = 'completed';
      return after;
    }
  }
}

function copy(wave: Wave, atMs: number): Wave {
  return { ...wave, atMs, steps: wave.steps.slice(), sinceMs: wave.sinceMs.slice(), passedMs: wave.passedMs.slice() };
}

/** Into a copy that nobody else has seen yet. */
function take(wave: Wave, { subtask, step, atMs }: Fact): void {
  const before = wave.steps[subtask]!;
  if (step <= before) return;
  wave.steps[subtask] = step;
  wave.sinceMs[subtask] = atMs;
  if (step === ACKNOWLEDGED) wave.acknowledged += 1;
  if (before >= SNAPSHOTTED || step < SNAPSHOTTED) return;
  wave.passedMs[subtask] = atMs;
  if (wave.exact) return;
  eachNeighbour(wave.topology, subtask, 'inputs', (other) => take(wave, { subtask: other, step: SNAPSHOTTED, atMs }));
  eachNeighbour(wave.topology, subtask, 'outputs', (other) => take(wave, { subtask: other, step: ALIGNING, atMs }));
}

/** The steps of one chain as digits, subtask by subtask: a value that is equal as long as nothing of it changes. */
export function stepsOf({ steps, topology }: Wave, chain: number): string {
  const block = topology.chains[topology.at.get(chain) ?? -1];
  if (!block) return '';
  let digits = '';
  for (let at = block.first; at < block.first + block.parallelism; at += 1) digits += steps[at];
  return digits;
}
