/**
 * Finds and describes the blocker of a pending checkpoint: the subtask or the log entry that the checkpoint is waiting for. Counts the blocked
 * channels of an edge. Pure.
 */
import { pluralize, duration } from '../../../../format';
import { chainTitle, type Chain, type Edge, type PhysicalGraph } from '../../physicalGraph';
import { forEachNeighbour, subtaskPosition, type Topology } from './topology';
import { ACKNOWLEDGED, ALIGNING, SNAPSHOTTED, type Wavefront } from './wavefront';

export type Blocker =
  /** No acknowledgement has been reported yet. */
  | { kind: 'unknown' }
  /**
   * The barrier has passed all upstream subtasks of this subtask, but not the subtask itself. `inputs`: the upstream subtasks, one per channel. A
   * source has no upstream subtasks. `awaiting`: the number of downstream subtasks that are aligning and waiting for this subtask's barrier.
   */
  | { kind: 'aligning'; subtask: number; inputs: readonly number[]; awaiting: number; forMs: number }
  /**
   * The barrier has passed all subtasks, and this subtask has been writing its state for the longest time. `others`: the number of other subtasks
   * that are writing their state.
   */
  | { kind: 'snapshotting'; subtask: number; others: number; forMs: number }
  /** All subtasks have acknowledged, and the coordinator is writing the log entry. */
  | { kind: 'completing'; forMs: number };

/** Return the blocker that a checkpoint is waiting for, or null if the checkpoint has ended. */
export function findBlocker(wave: Wavefront): Blocker | null {
  const { topology, steps, sinceMs, atMs } = wave;
  if (wave.end !== null) return null;
  if (!wave.exact && wave.acknowledged === 0) return { kind: 'unknown' };
  if (wave.acknowledged === topology.count) return { kind: 'completing', forMs: atMs - latest(sinceMs) };
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
  // A subtask that delays the barrier takes precedence over subtasks that are writing their state. Downstream subtasks cannot start their snapshots
  // before the barrier arrives.
  if (held) {
    const inputs: number[] = [];
    forEachNeighbour(topology, held.subtask, 'inputs', (other) => inputs.push(other));
    let awaiting = 0;
    forEachNeighbour(topology, held.subtask, 'outputs', (other) => (awaiting += Number(steps[other] === ALIGNING)));
    return { kind: 'aligning', subtask: held.subtask, inputs, awaiting, forMs: Math.max(0, atMs - held.sinceMs) };
  }
  return { kind: 'snapshotting', subtask: writing!.subtask, others: writers - 1, forMs: Math.max(0, atMs - writing!.sinceMs) };
}

function latest(moments: Float64Array): number {
  return moments.reduce((a, b) => Math.max(a, b), 0);
}

/**
 * Return the time at which the barrier passed the last upstream subtask. For a source, return 0, the time of the trigger. Return null if the barrier
 * has not passed all upstream subtasks.
 */
function allSentMs({ topology, passedMs }: Wavefront, subtask: number): number | null {
  let lastMs = 0;
  // NaN means that the barrier has not passed the subtask. Math.max returns NaN if any argument is NaN.
  forEachNeighbour(topology, subtask, 'inputs', (other) => (lastMs = Math.max(lastMs, passedMs[other]!)));
  return Number.isNaN(lastMs) ? null : lastMs;
}

/** The progress of a barrier over the channels of one edge. */
interface ChannelProgress {
  /**
   * The number of blocked channels. A channel is blocked if the barrier was sent on this channel, and the target subtask is waiting for the barriers
   * of other channels.
   */
  blocked: number;
  /**
   * The number of channels with a barrier in flight. A barrier counts as in flight if the target subtask is aligning, although all upstream subtasks
   * have sent the barrier. In at least one input channel of an aligning subtask, the barrier is still queued behind records.
   */
  inFlight: number;
}
const NO_PROGRESS: ChannelProgress = { blocked: 0, inFlight: 0 };

/**
 * Return the number of blocked channels of an edge, and the number of its channels with a barrier in flight. Subtasks report when they have sent a
 * barrier, but not when a barrier has arrived.
 */
export function blockedChannels(wave: Wavefront, { source, target, partitioning, feedback }: Edge): ChannelProgress {
  const { topology, steps } = wave;
  const from = topology.chains[topology.at.get(source) ?? -1];
  const to = topology.chains[topology.at.get(target) ?? -1];
  if (!from || !to || feedback || wave.end !== null) return NO_PROGRESS;
  const { passed, awaits } = barrierProgress(wave);
  const count = passed[topology.at.get(source)!]!;
  if (count === 0) return NO_PROGRESS;
  const progress = { ...NO_PROGRESS };
  for (let index = 0; index < to.parallelism; index += 1) {
    if (steps[to.first + index] !== ALIGNING) continue;
    const sent = partitioning === 'forward' ? Number(index < from.parallelism && steps[from.first + index]! >= SNAPSHOTTED) : count;
    progress[awaits[to.first + index] === 1 ? 'blocked' : 'inFlight'] += sent;
  }
  return progress;
}

/**
 * `passed`: for each chain position, the number of subtasks that the barrier has passed. `awaits`: for each subtask, 1 if the subtask is aligning
 * and still waiting for a barrier.
 */
interface BarrierProgress {
  passed: Uint32Array;
  awaits: Uint8Array;
}

/**
 * A cache of barrier progress, because hundreds of edges query the progress ten times a second. The cache key is the array `steps` of a wavefront. A
 * wavefront gets a new array `steps` only when a step changes.
 */
const progressCache = new WeakMap<Uint8Array, BarrierProgress>();

function barrierProgress({ topology, steps }: Wavefront): BarrierProgress {
  const cached = progressCache.get(steps);
  if (cached) return cached;
  const passed = new Uint32Array(topology.chains.length);
  const awaits = new Uint8Array(topology.count);
  for (let subtask = 0; subtask < topology.count; subtask += 1) {
    if (steps[subtask]! >= SNAPSHOTTED) passed[topology.chainOf[subtask]!]! += 1;
    if (steps[subtask] !== ALIGNING) continue;
    forEachNeighbour(topology, subtask, 'inputs', (other) => {
      if (steps[other]! < SNAPSHOTTED) awaits[subtask] = 1;
    });
  }
  const progress = { passed, awaits };
  progressCache.set(steps, progress);
  return progress;
}

const blockerCache = new WeakMap<Wavefront, Blocker | null>();

/** `findBlocker`, cached by wavefront. */
export function blockerOf(wave: Wavefront): Blocker | null {
  let blocker = blockerCache.get(wave);
  if (blocker === undefined) blockerCache.set(wave, (blocker = findBlocker(wave)));
  return blocker;
}

/** Return the index of the blocking subtask if it belongs to this chain, else -1. */
export function blockingIndex(wave: Wavefront | null, chain: number): number {
  const blocker = wave && blockerOf(wave);
  if (!blocker || !('subtask' in blocker)) return -1;
  const position = subtaskPosition(wave.topology, blocker.subtask);
  return position.chain === chain ? position.index : -1;
}

/** The maximum number of upstream chains that the text about a blocker names. */
const NAMES_MAX = 2;

/** Return the label of a subtask, such as `by_route → routes [2]`. */
function subtaskLabel(subtask: number, graph: PhysicalGraph, topology: Topology): string {
  return `${inputName(subtask, graph, topology)} [${subtaskPosition(topology, subtask).index}]`;
}

function inputName(subtask: number, graph: PhysicalGraph, topology: Topology): string {
  const chain = chainAt(subtask, graph, topology);
  return chain ? chainTitle(chain) : `chain ${subtaskPosition(topology, subtask).chain}`;
}

function chainAt(subtask: number, { chains }: PhysicalGraph, topology: Topology): Chain | undefined {
  const { chain } = subtaskPosition(topology, subtask);
  return chains.find(({ index }) => index === chain);
}

/**
 * Describe the blocker of a checkpoint, and how long the checkpoint has been waiting for the blocker. `exact`: whether the steps come from
 * measurements, and not only from acknowledgements.
 */
export function blockerText(blocker: Blocker, graph: PhysicalGraph, topology: Topology, exact: boolean): string {
  switch (blocker.kind) {
    case 'unknown':
      return 'no subtask has acknowledged yet';
    case 'completing':
      return `all subtasks have acknowledged, and the coordinator ${blocker.forMs < 1 ? 'is writing the log entry' : `has been writing the log entry for ${duration(blocker.forMs)}`}`;
    case 'snapshotting':
      return `${subtaskLabel(blocker.subtask, graph, topology)} has been writing its state for ${duration(blocker.forMs)}${blocker.others === 0 ? '' : `; ${pluralize(blocker.others, 'other subtask')} ${blocker.others === 1 ? 'is' : 'are'} also writing`}`;
    case 'aligning': {
      const { awaiting } = blocker;
      const text = aligningText(blocker, graph, topology, exact);
      return awaiting === 0 ? text : `${text}; ${pluralize(awaiting, 'subtask')} ${awaiting === 1 ? 'is' : 'are'} waiting for its barrier`;
    }
  }
}

/**
 * Describe why a subtask is aligning. A barrier that has not arrived is queued behind records. If the steps are inferred from acknowledgements, a
 * stateful subtask or a sink may be writing its state instead of aligning.
 */
function aligningText({ subtask, inputs, forMs }: Blocker & { kind: 'aligning' }, graph: PhysicalGraph, topology: Topology, exact: boolean): string {
  const name = subtaskLabel(subtask, graph, topology);
  const time = duration(forMs);
  const [first] = inputs;
  if (first === undefined) return exact ? `source ${name} has not sent its barrier for ${time}` : `source ${name} has not acknowledged for ${time}`;
  const own = chainAt(subtask, graph, topology);
  const alternative = !exact && own?.operators.some(({ stateful, kind }) => stateful || kind === 'sink') ? ', or the subtask is writing its state' : '';
  if (inputs.length === 1) return `${name} has been waiting for ${time}, because the barrier from ${subtaskLabel(first, graph, topology)} is queued behind records${alternative}`;
  return `${name} has been aligning for ${time}, because barriers from ${inputNames(inputs, graph, topology)} are queued behind records (${pluralize(inputs.length, 'channel')})${alternative}`;
}

/** Return the names of the chains of these subtasks as a short list, such as `orders, customers and 3 more`. */
function inputNames(subtasks: readonly number[], graph: PhysicalGraph, topology: Topology): string {
  const names = [...new Set(subtasks.map((subtask) => inputName(subtask, graph, topology)))];
  const more = names.length - NAMES_MAX;
  const parts = more > 0 ? [...names.slice(0, NAMES_MAX), `${more} more`] : names;
  return parts.length === 1 ? parts[0]! : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
