/** A checkpoint as a Gantt chart: what each subtask did when; who has not acknowledged first, then the slowest. Geometry only, pure. */
import type { Schemas } from '../../../api/types';
import { duration, toMs, untenthed } from '../../../format';
import type { StateOf } from '../../../look/states';
import { stragglerLimit } from '../../../shared/statistics';
import { nameOf } from './names';
import type { Chain, GraphChain } from './operators';

export type Phase = StateOf<'phase'>;
export interface Segment {
  phase: Phase;
  fromMs: number;
  toMs: number;
}
export interface Bar {
  chain: number;
  index: number;
  name: string;
  /** It has not acknowledged, so it reaches from the trigger up to whatever moment it is looked at. */
  open: boolean;
  /** From the trigger until it was acknowledged; null: only what the subtask itself has measured is known, or nothing. */
  tookMs: number | null;
  segments: Segment[];
  straggler: boolean;
}
export interface Timeline {
  bars: Bar[];
  /** How many of them are open: these come first. */
  open: number;
  /** As far as the longest bar reaches that is not open. */
  spanMs: number;
  /** From here on a subtask is a straggler; null: there is nobody to compare with, or some are missing, and those took longest. */
  limitMs: number | null;
  /** Were phases measured? Otherwise only acknowledgements are known. */
  measured: boolean;
}

type Subtask = Schemas['SubtaskBody'];
type Checkpoint = Schemas['CheckpointBody'];

/** `graph`: which subtasks there are; empty if it is not known, and then nobody knows who is missing. */
export function timelineOf(chains: readonly Chain[], graph: readonly GraphChain[], state: Checkpoint['state']): Timeline {
  const isCompleted = state === 'COMPLETED';
  const missing = isCompleted ? [] : missingOf(chains, graph);
  const ended = chains
    .flatMap((chain) => chain.subtasks.map((one) => barOf(chain, one)))
    .sort((a, b) => endOf(b) - endOf(a) || a.chain - b.chain || a.index - b.index);
  return {
    bars: [...missing, ...ended],
    open: missing.length,
    // The slowest comes first.
    spanMs: ended[0] ? Math.max(0, endOf(ended[0])) : 0,
    limitMs: isCompleted ? stragglerLimit(ended.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]))) : null,
    measured: chains.some(({ subtasks }) => subtasks.some(({ checkpoint }) => checkpoint !== null)),
  };
}

/** In the order of the graph: none of them is slower than another. */
function missingOf(chains: readonly Chain[], graph: readonly GraphChain[]): Bar[] {
  const parallelisms = new Map(graph.map(({ index, parallelism }) => [index, parallelism]));
  return chains.flatMap((chain) => {
    const there = new Set(chain.subtasks.map(({ index }) => index));
    return Array.from({ length: parallelisms.get(chain.chain) ?? 0 }, (_, index) => index)
      .filter((index) => !there.has(index))
      .map((index) => ({ chain: chain.chain, index, name: called(chain, index), open: true, tookMs: null, segments: [], straggler: false }));
  });
}

function barOf(chain: Chain, one: Subtask): Bar {
  const tookMs = one.end_to_end_duration;
  return { chain: chain.chain, index: one.index, name: called(chain, one.index), open: false, tookMs, segments: segmentsOf(one), straggler: one.straggler ?? false };
}

const called = (chain: Chain, index: number): string => `${nameOf(chain)} [${index}]`;

/** How far open bars reach, from the trigger on, and the axis. While the checkpoint is in progress both grow; once it has failed they do not. */
export function reachAt({ open, spanMs }: Timeline, { triggered_at, failed_at, state }: Pick<Checkpoint, 'triggered_at' | 'failed_at' | 'state'>, nowMs: number): { openMs: number; spanMs: number } {
  if (open === 0) return { openMs: 0, spanMs };
  const end = state === 'FAILED' ? toMs(failed_at) : nowMs;
  // Whoever told the trigger has another clock, which may be ahead. Who is missing has taken longer than anybody who is there.
  const openMs = Math.max((end ?? 0) - (toMs(triggered_at) ?? 0), spanMs, 0);
  return { openMs, spanMs: openMs };
}

/** Nothing that is seen of a subtask has changed: while a checkpoint is in progress that is so of most of them. */
export function looksAlike(one: Bar, other: Bar): boolean {
  const [mine, others] = [one.segments, other.segments];
  return (
    one.name === other.name && one.open === other.open && one.tookMs === other.tookMs && one.straggler === other.straggler && mine.length === others.length &&
    mine.every(({ phase, fromMs, toMs: end }, place) => phase === others[place]!.phase && fromMs === others[place]!.fromMs && end === others[place]!.toMs)
  );
}

/**
 * One after the other from the trigger on. `async` is measured from the beginning of the sync phase until files are durable, so what
 * is drawn of it begins when sync ends. A slot acknowledges all its subtasks together: what is left is waiting for that.
 */
export function segmentsOf({ start_delay, alignment, checkpoint, end_to_end_duration: tookMs }: Subtask): Segment[] {
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

/** Clocks of subtasks and of the driver are not one: what a subtask measured may reach further than its acknowledgement. */
function endOf({ tookMs, segments }: Bar): number {
  return Math.max(tookMs ?? 0, segments.at(-1)?.toMs ?? 0);
}

/** Round moments for an axis from 0 to `spanMs`: about `wanted` of them, none beyond its end. */
export function ticks(spanMs: number, wanted = 5): number[] {
  if (!(spanMs > 0)) return [0];
  const rough = spanMs / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough)!;
  return Array.from({ length: Math.floor(spanMs / step + 1e-9) + 1 }, (_, place) => place * step);
}

/** Of moments of one axis: with as many decimals as tell neighbours apart. */
export function ticked(all: readonly number[], place: number): string {
  const tick = all[place]!;
  const stepMs = all[1] ?? 1;
  if (tick === 0) return '0';
  return stepMs < 1 ? `${tick.toFixed(-Math.floor(Math.log10(stepMs) + 1e-9))} ms` : untenthed(duration(tick));
}

/** Where on an axis, in percent. */
export function percentOf(ms: number, spanMs: number): number {
  return spanMs > 0 ? Math.min(100, (100 * ms) / spanMs) : 0;
}
