/** A checkpoint as a Gantt chart: what each subtask did when, slowest first. Geometry only, pure. */
import type { Schemas } from '../../../api/types';
import { duration } from '../../../format';
import type { StateOf } from '../../../look/states';
import { stragglerLimit } from '../../../shared/statistics';
import { nameOf } from './names';
import type { Chain } from './operators';

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
  /** From the trigger until it was acknowledged; null: only what the subtask itself has measured is known. */
  tookMs: number | null;
  segments: Segment[];
  straggler: boolean;
}
export interface Timeline {
  bars: Bar[];
  /** As far as the longest bar reaches. */
  spanMs: number;
  /** From here on a subtask is a straggler; null: there is nobody to compare with. */
  limitMs: number | null;
  /** Were phases measured? Otherwise only acknowledgements are known. */
  measured: boolean;
}

type Subtask = Schemas['SubtaskBody'];

export function timelineOf(chains: readonly Chain[]): Timeline {
  const bars = chains
    .flatMap((chain) => chain.subtasks.map((one) => barOf(chain, one)))
    .sort((a, b) => endOf(b) - endOf(a) || a.chain - b.chain || a.index - b.index);
  return {
    bars,
    // The slowest comes first.
    spanMs: bars[0] ? Math.max(0, endOf(bars[0])) : 0,
    limitMs: stragglerLimit(bars.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]))),
    measured: chains.some(({ subtasks }) => subtasks.some(({ checkpoint }) => checkpoint !== null)),
  };
}

function barOf(chain: Chain, one: Subtask): Bar {
  const tookMs = one.end_to_end_duration;
  return { chain: chain.chain, index: one.index, name: `${nameOf(chain)} [${one.index}]`, tookMs, segments: segmentsOf(one), straggler: one.straggler ?? false };
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
  return stepMs < 1 ? `${tick.toFixed(-Math.floor(Math.log10(stepMs) + 1e-9))} ms` : duration(tick).replace('.0 ', ' ');
}

/** Where on an axis, in percent. */
export function percentOf(ms: number, spanMs: number): number {
  return spanMs > 0 ? Math.min(100, (100 * ms) / spanMs) : 0;
}
