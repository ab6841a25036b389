/**
 * A pure state machine for the progress of one checkpoint through the subtasks. The steps of a subtask always have this order:
 *
 *     waiting -> aligning -> snapshotted -> acknowledged
 *
 * `aligning`: some barriers have arrived at the subtask or have been sent to it. `snapshotted`: the barrier has passed the subtask, and the subtask
 * is writing its state. For a checkpoint in progress, only acknowledgements are known, and all other steps are inferred. If a subtask has
 * acknowledged, the barrier has passed all upstream subtasks and has been sent to all downstream subtasks. For a completed checkpoint, the
 * measurements of the subtasks are also known.
 */
import { forEachNeighbour, type Topology } from './topology';

export const STEPS = ['waiting', 'aligning', 'snapshotted', 'acknowledged'] as const;
export type Step = (typeof STEPS)[number];
export const WAITING = 0;
export const ALIGNING = 1;
export const SNAPSHOTTED = 2;
export const ACKNOWLEDGED = 3;

/** `atMs`: the time since the trigger, in milliseconds. */
export interface StepChange {
  subtask: number;
  step: number;
  atMs: number;
}

export interface Wavefront {
  topology: Topology;
  /** Whether all steps come from measurements, as in most replays. If `exact` is false, steps are inferred from acknowledgements. */
  exact: boolean;
  /**
   * `steps`, `sinceMs` and `passedMs` have one element for each subtask. `steps`: the index of the subtask's step in STEPS. `sinceMs`: the time at
   * which the subtask's current step began. `passedMs`: the time at which the barrier passed the subtask, or NaN if the barrier has not passed the
   * subtask yet.
   */
  steps: Uint8Array;
  sinceMs: Float64Array;
  passedMs: Float64Array;
  /** The time since the trigger, in milliseconds. */
  atMs: number;
  acknowledged: number;
  end: 'completed' | 'failed' | null;
}

type WavefrontAction =
  | { type: 'facts'; facts: readonly StepChange[]; atMs: number }
  | { type: 'clock'; atMs: number }
  | { type: 'end'; outcome: 'completed' | 'failed'; atMs: number };

export function initialWavefront(topology: Topology, { exact }: { exact: boolean }): Wavefront {
  const { count } = topology;
  return {
    topology, exact, steps: new Uint8Array(count), sinceMs: new Float64Array(count), passedMs: new Float64Array(count).fill(NaN), atMs: 0, acknowledged: 0, end: null,
  };
}

export function reduceWavefront(wave: Wavefront, action: WavefrontAction): Wavefront {
  if (wave.end !== null) return wave;
  // The clocks of hosts differ, so make sure that the time of the wavefront never decreases.
  const atMs = Math.max(wave.atMs, action.atMs);
  switch (action.type) {
    case 'clock':
      return atMs === wave.atMs ? wave : { ...wave, atMs };
    case 'facts': {
      const fresh = action.facts.filter(({ subtask, step }) => subtask < wave.topology.count && step > wave.steps[subtask]!);
      if (fresh.length === 0) return atMs === wave.atMs ? wave : { ...wave, atMs };
      const after = copy(wave, atMs);
      for (const fact of fresh) advance(after, fact);
      return after;
    }
    case 'end': {
      if (action.outcome === 'failed') return { ...wave, atMs, end: 'failed' };
      const after = copy(wave, atMs);
      for (let subtask = 0; subtask < after.steps.length; subtask += 1) advance(after, { subtask, step: ACKNOWLEDGED, atMs });
      after.end = 'completed';
      return after;
    }
  }
}

function copy(wave: Wavefront, atMs: number): Wavefront {
  return { ...wave, atMs, steps: wave.steps.slice(), sinceMs: wave.sinceMs.slice(), passedMs: wave.passedMs.slice() };
}

/** Advance a subtask to a step. This function mutates `wave`, so `wave` must be a fresh copy. */
function advance(wave: Wavefront, { subtask, step, atMs }: StepChange): void {
  const before = wave.steps[subtask]!;
  if (step <= before) return;
  wave.steps[subtask] = step;
  wave.sinceMs[subtask] = atMs;
  if (step === ACKNOWLEDGED) wave.acknowledged += 1;
  if (before >= SNAPSHOTTED || step < SNAPSHOTTED) return;
  wave.passedMs[subtask] = atMs;
  if (wave.exact) return;
  forEachNeighbour(wave.topology, subtask, 'inputs', (other) => advance(wave, { subtask: other, step: SNAPSHOTTED, atMs }));
  forEachNeighbour(wave.topology, subtask, 'outputs', (other) => advance(wave, { subtask: other, step: ALIGNING, atMs }));
}

/** Return the steps of a chain as a string of digits, which can be compared with ===. */
export function chainSteps({ steps, topology }: Wavefront, chain: number): string {
  const block = topology.chains[topology.at.get(chain) ?? -1];
  if (!block) return '';
  let digits = '';
  for (let at = block.first; at < block.first + block.parallelism; at += 1) digits += steps[at];
  return digits;
}
