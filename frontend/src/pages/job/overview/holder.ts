/** Which channels a barrier holds up, and who it is that everybody waits for. Pure. */
import type { Edge } from './graph';
import { eachNeighbour } from './topology';
import { ACKNOWLEDGED, ALIGNING, SNAPSHOTTED, type Wave } from './wavefront';

export type Holder =
  /** No acknowledgement was told yet, so nothing is known. */
  | { is: 'unknown' }
  /**
   * All who send to it have let the barrier pass, and it has not. `inputs`: who they are, one a channel; a source has none. `awaiting`: how many
   * of those to whom it sends have the barrier of somebody else, and lack this one.
   */
  | { is: 'passing'; subtask: number; inputs: readonly number[]; awaiting: number; forMs: number }
  /** The barrier is through; this one has been writing its state for longest. `others`: who write, too. */
  | { is: 'writing'; subtask: number; others: number; forMs: number }
  /** All have acknowledged: the coordinator writes the checkpoint's entry. */
  | { is: 'closing'; forMs: number };

/** Null: it is over, nobody holds it. */
export function holderOf(wave: Wave): Holder | null {
  const { topology, steps, sinceMs, atMs } = wave;
  if (wave.end !== null) return null;
  if (!wave.exact && wave.acknowledged === 0) return { is: 'unknown' };
  if (wave.acknowledged === topology.count) return { is: 'closing', forMs: atMs - latest(sinceMs) };
  let held: { subtask: number; sinceMs: number } | null = null;
  let writing: { subtask: number; sinceMs: number } | null = null;
  let writers = 0;
  for (let subtask = 0; subtask < topology.count; subtask += 1) {
    if (steps[subtask] === ACKNOWLEDGED) continue;
    if (steps[subtask] === SNAPSHOTTED) {
      writers += 1;
      if (!writing || sinceMs[subtask]! < writing.sinceMs) writing = { subtask, sinceMs: sinceMs[subtask]! };
      continue;
    }
    const sentMs = allSentMs(wave, subtask);
    if (sentMs !== null && (!held || sentMs < held.sinceMs)) held = { subtask, sinceMs: sentMs };
  }
  // Whoever keeps the barrier from others comes first: behind it nobody can even begin.
  if (held) {
    const inputs: number[] = [];
    eachNeighbour(topology, held.subtask, 'inputs', (other) => inputs.push(other));
    let awaiting = 0;
    eachNeighbour(topology, held.subtask, 'outputs', (other) => (awaiting += Number(steps[other] === ALIGNING)));
    return { is: 'passing', subtask: held.subtask, inputs, awaiting, forMs: Math.max(0, atMs - held.sinceMs) };
  }
  return { is: 'writing', subtask: writing!.subtask, others: writers - 1, forMs: Math.max(0, atMs - writing!.sinceMs) };
}

function latest(moments: Float64Array): number {
  return moments.reduce((a, b) => Math.max(a, b), 0);
}

/** When the last of those who send to it has let the barrier pass: of a source the trigger is the moment. Null: not all of them have. */
function allSentMs({ topology, passedMs }: Wave, subtask: number): number | null {
  let lastMs = 0;
  // A moment that is not known (NaN) stays so.
  eachNeighbour(topology, subtask, 'inputs', (other) => (lastMs = Math.max(lastMs, passedMs[other]!)));
  return Number.isNaN(lastMs) ? null : lastMs;
}

/** Of the channels of an edge. */
export interface Held {
  /** The barrier was sent over them, and their target, which still waits for those of others, reads no further than to it. */
  blocked: number;
  /** All have sent theirs to the target, and it has not let the barrier pass: on some of its channels that is queued behind records. */
  underWay: number;
}
const NOTHING_HELD: Held = { blocked: 0, underWay: 0 };

/** Which of its channels have their barrier is told by nobody: that they were sent is. */
export function heldOf(wave: Wave, { source, target, partitioning, feedback }: Edge): Held {
  const { topology, steps } = wave;
  const from = topology.chains[topology.at.get(source) ?? -1];
  const to = topology.chains[topology.at.get(target) ?? -1];
  if (!from || !to || feedback || wave.end !== null) return NOTHING_HELD;
  const { through, awaits } = standingOf(wave);
  const count = through[topology.at.get(source)!]!;
  if (count === 0) return NOTHING_HELD;
  const held = { ...NOTHING_HELD };
  for (let index = 0; index < to.parallelism; index += 1) {
    if (steps[to.first + index] !== ALIGNING) continue;
    const sent = partitioning === 'forward' ? Number(index < from.parallelism && steps[from.first + index]! >= SNAPSHOTTED) : count;
    held[awaits[to.first + index] === 1 ? 'blocked' : 'underWay'] += sent;
  }
  return held;
}

/** `through`: by position of the chain, how many of its subtasks the barrier has passed. `awaits`: 1 for who aligns and lacks a barrier. */
interface Standing {
  through: Uint32Array;
  awaits: Uint8Array;
}

/** By the steps, which stay the same array while only time passes: hundreds of edges ask for it ten times a second. */
const known = new WeakMap<Uint8Array, Standing>();

function standingOf({ topology, steps }: Wave): Standing {
  const found = known.get(steps);
  if (found) return found;
  const through = new Uint32Array(topology.chains.length);
  const awaits = new Uint8Array(topology.count);
  for (let subtask = 0; subtask < topology.count; subtask += 1) {
    if (steps[subtask]! >= SNAPSHOTTED) through[topology.chainOf[subtask]!]! += 1;
    if (steps[subtask] !== ALIGNING) continue;
    eachNeighbour(topology, subtask, 'inputs', (other) => {
      if (steps[other]! < SNAPSHOTTED) awaits[subtask] = 1;
    });
  }
  const standing = { through, awaits };
  known.set(steps, standing);
  return standing;
}
