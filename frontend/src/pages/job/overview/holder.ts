/** Which channels are blocked, and who it is that everybody waits for. Pure. */
import type { Edge } from './graph';
import { eachNeighbour } from './topology';
import { ACKNOWLEDGED, ALIGNING, SNAPSHOTTED, type Wave } from './wavefront';

export type Holder =
  /** No acknowledgement was told yet, so nothing is known. */
  | { is: 'unknown'; forMs: number }
  /** All who send to it have let the barrier pass, and it has not. `from`: who let it pass last; null: it is a source. */
  | { is: 'passing'; subtask: number; from: number | null; forMs: number }
  /** The barrier is through; this one has been writing its state for longest. `others`: who write, too. */
  | { is: 'writing'; subtask: number; others: number; forMs: number }
  /** All have acknowledged: the coordinator writes the checkpoint's entry. */
  | { is: 'closing'; forMs: number };

/** Null: it is over, nobody holds it. */
export function holderOf(wave: Wave): Holder | null {
  const { topology, steps, sinceMs, atMs } = wave;
  if (wave.end !== null) return null;
  if (!wave.exact && wave.acknowledged === 0) return { is: 'unknown', forMs: atMs };
  if (wave.acknowledged === topology.count) return { is: 'closing', forMs: atMs - latest(sinceMs) };
  let held: { subtask: number; from: number | null; sinceMs: number } | null = null;
  let writing: { subtask: number; sinceMs: number } | null = null;
  let writers = 0;
  for (let subtask = 0; subtask < topology.count; subtask += 1) {
    if (steps[subtask] === ACKNOWLEDGED) continue;
    if (steps[subtask] === SNAPSHOTTED) {
      writers += 1;
      if (!writing || sinceMs[subtask]! < writing.sinceMs) writing = { subtask, sinceMs: sinceMs[subtask]! };
      continue;
    }
    const last = lastToPass(wave, subtask);
    if (last !== 'not all' && (!held || last.atMs < held.sinceMs)) held = { subtask, from: last.subtask, sinceMs: last.atMs };
  }
  // Whoever keeps the barrier from others comes first: behind it nobody can even begin.
  if (held) return { is: 'passing', subtask: held.subtask, from: held.from, forMs: Math.max(0, atMs - held.sinceMs) };
  return { is: 'writing', subtask: writing!.subtask, others: writers - 1, forMs: Math.max(0, atMs - writing!.sinceMs) };
}

function latest(moments: Float64Array): number {
  return moments.reduce((a, b) => Math.max(a, b), 0);
}

/** Of those who send to it: who let the barrier pass last. Of a source: nobody, and the trigger is the moment. */
function lastToPass({ topology, passedMs }: Wave, subtask: number): { subtask: number | null; atMs: number } | 'not all' {
  let last: number | null = null;
  let lastMs = 0;
  let all = true;
  eachNeighbour(topology, subtask, 'inputs', (other) => {
    const atMs = passedMs[other]!;
    if (Number.isNaN(atMs)) all = false;
    else if (last === null || atMs > lastMs) [last, lastMs] = [other, atMs];
  });
  return all ? { subtask: last, atMs: lastMs } : 'not all';
}

/**
 * How many channels of an edge are blocked: the barrier came through them, and their target, which still waits for others, reads no
 * further from them.
 */
export function blockedOf(wave: Wave, { source, target, partitioning, feedback }: Edge): number {
  const { topology, steps } = wave;
  const from = topology.chains[topology.at.get(source) ?? -1];
  const to = topology.chains[topology.at.get(target) ?? -1];
  if (!from || !to || feedback || wave.end !== null) return 0;
  const { through, awaits } = standingOf(wave);
  const count = through[topology.at.get(source)!]!;
  if (count === 0) return 0;
  let blocked = 0;
  for (let index = 0; index < to.parallelism; index += 1) {
    if (awaits[to.first + index] === 0) continue;
    blocked += partitioning === 'forward' ? Number(index < from.parallelism && steps[from.first + index]! >= SNAPSHOTTED) : count;
  }
  return blocked;
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
