/**
 * Computes the bars of a Gantt chart of a checkpoint, with one bar per subtask. Bars of subtasks that have not acknowledged come first. All other
 * bars are sorted by length, longest first. Pure.
 */
import type { Schemas } from '../../../api/types';
import { duration, toMs, dropZeroTenths } from '../../../format';
import type { StateOf } from '../../../theme/states';
import { stragglerThreshold } from '../../../shared/statistics';
import { chainName, type Chain } from '../physicalGraph';
import type { ChainStatistics } from './operatorRows';

export type Phase = StateOf<'phase'>;
interface Segment {
  phase: Phase;
  fromMs: number;
  toMs: number;
}
export interface Bar {
  chain: number;
  index: number;
  name: string;
  /** Whether the bar is open. A bar is open if its subtask has not acknowledged. An open bar extends from the trigger until now, or until the failure of the checkpoint. */
  open: boolean;
  /** The time from the trigger until the acknowledgement. Null if the acknowledgement was not reported. */
  tookMs: number | null;
  segments: Segment[];
  straggler: boolean;
}
export interface Timeline {
  bars: Bar[];
  /** The number of open bars, which come first. */
  open: number;
  /** The length of the longest bar that is not open. */
  spanMs: number;
  /**
   * The minimum duration of a subtask that counts as a straggler. `limitMs` is null if there are too few subtasks to compare, or if the checkpoint is
   * not completed.
   */
  limitMs: number | null;
  /** Whether phases are measured. Without measurements, only acknowledgements are known. */
  measured: boolean;
}

type Subtask = Schemas['SubtaskStatisticsRead'];
type Checkpoint = Schemas['CheckpointRead'];

/**
 * Return the bars of a checkpoint. `graph`: the chains whose subtasks take part in the checkpoint. If `graph` is empty, the result contains no open bars.
 */
export function buildTimeline(chains: readonly ChainStatistics[], graph: readonly Chain[], state: Checkpoint['state']): Timeline {
  const isCompleted = state === 'COMPLETED';
  const missing = isCompleted ? [] : missingOf(chains, graph);
  const ended = chains
    .flatMap((chain) => chain.subtasks.map((one) => barOf(chain, one)))
    .sort((a, b) => endOf(b) - endOf(a) || a.chain - b.chain || a.index - b.index);
  return {
    bars: [...missing, ...ended],
    open: missing.length,
    // `ended` is sorted by end time, latest first.
    spanMs: ended[0] ? Math.max(0, endOf(ended[0])) : 0,
    limitMs: isCompleted ? stragglerThreshold(ended.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]))) : null,
    measured: chains.some(({ subtasks }) => subtasks.some(({ checkpoint }) => checkpoint !== null)),
  };
}

/** Return the bars of subtasks that have not acknowledged, in graph order. */
function missingOf(chains: readonly ChainStatistics[], graph: readonly Chain[]): Bar[] {
  const parallelisms = new Map(graph.map(({ index, parallelism }) => [index, parallelism]));
  return chains.flatMap((chain) => {
    const acknowledged = new Set(chain.subtasks.map(({ index }) => index));
    return Array.from({ length: parallelisms.get(chain.chain) ?? 0 }, (_, index) => index)
      .filter((index) => !acknowledged.has(index))
      .map((index) => ({ chain: chain.chain, index, name: barName(chain, index), open: true, tookMs: null, segments: [], straggler: false }));
  });
}

function barOf(chain: ChainStatistics, one: Subtask): Bar {
  const tookMs = one.end_to_end_duration;
  return { chain: chain.chain, index: one.index, name: barName(chain, one.index), open: false, tookMs, segments: phaseSegments(one), straggler: one.straggler ?? false };
}

const barName = (chain: ChainStatistics, index: number): string => `${chainName(chain.operators, chain.chain)} [${index}]`;

/** Return the lengths of open bars and of the axis. The open bars and the axis start at the trigger and grow until the checkpoint ends. */
export function axisAt({ open, spanMs }: Timeline, { triggered_at, failed_at, state }: Pick<Checkpoint, 'triggered_at' | 'failed_at' | 'state'>, nowMs: number): { openMs: number; spanMs: number } {
  if (open === 0) return { openMs: 0, spanMs };
  const end = state === 'FAILED' ? toMs(failed_at) : nowMs;
  // An open bar is at least as long as all other bars, because its subtask has taken longer than all subtasks that have acknowledged. The computed
  // time since the trigger can be too short, because the clocks of the driver and the browser differ.
  const openMs = Math.max((end ?? 0) - (toMs(triggered_at) ?? 0), spanMs, 0);
  return { openMs, spanMs: openMs };
}

/** Return whether both bars look the same. Most bars do not change between two updates. */
export function isEqualBar(one: Bar, other: Bar): boolean {
  const [mine, others] = [one.segments, other.segments];
  return (
    one.name === other.name && one.open === other.open && one.tookMs === other.tookMs && one.straggler === other.straggler && mine.length === others.length &&
    mine.every(({ phase, fromMs, toMs: end }, place) => phase === others[place]!.phase && fromMs === others[place]!.fromMs && end === others[place]!.toMs)
  );
}

/**
 * Return the phases in sequence from the trigger. `async` is measured from the start of the sync phase, but its segment begins when the sync phase
 * ends. A slot acknowledges all its subtasks together, so in the last segment, a subtask waits for the other subtasks of its slot.
 */
export function phaseSegments({ start_delay, alignment, checkpoint, end_to_end_duration: tookMs }: Subtask): Segment[] {
  const found: Segment[] = [];
  let at = 0;
  const add = (phase: Phase, ms: number | null | undefined): void => {
    if (!ms || ms <= 0) return;
    found.push({ phase, fromMs: at, toMs: (at += ms) });
  };
  add('start delay', start_delay);
  add('alignment', alignment?.duration);
  add('sync', checkpoint?.sync);
  add('async', checkpoint && checkpoint.async - checkpoint.sync);
  if (tookMs !== null) add('acknowledging', tookMs - at);
  return found;
}

/** Return the end of a bar. The clocks of subtasks and driver differ, so measured phases can end after the acknowledgement. */
function endOf({ tookMs, segments }: Bar): number {
  return Math.max(tookMs ?? 0, segments.at(-1)?.toMs ?? 0);
}

/** Return about `count` round axis values from 0 to `spanMs`. */
export function ticks(spanMs: number, count = 5): number[] {
  if (!(spanMs > 0)) return [0];
  const rough = spanMs / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough)!;
  return Array.from({ length: Math.floor(spanMs / step + 1e-9) + 1 }, (_, place) => place * step);
}

/** Format an axis value with enough decimals to distinguish it from the previous and the next axis value. */
export function tickLabel(all: readonly number[], place: number): string {
  const tick = all[place]!;
  const stepMs = all[1] ?? 1;
  if (tick === 0) return '0';
  return stepMs < 1 ? `${tick.toFixed(-Math.floor(Math.log10(stepMs) + 1e-9))} ms` : dropZeroTenths(duration(tick));
}

/** Return the position of a time on the axis, in percent. */
export function axisPercent(ms: number, spanMs: number): number {
  return spanMs > 0 ? Math.min(100, (100 * ms) / spanMs) : 0;
}
