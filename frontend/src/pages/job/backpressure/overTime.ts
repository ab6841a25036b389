/** What the subtasks of an operator did over time, as charts. Pure. */
import type { Schemas } from '../../../api/types';
import { absolute, clock, duration, percent, toMs } from '../../../format';
import { shade } from '../../../look/shade';
import { coloursOf } from '../../../look/states';
import { frame, linesOverTime, pointsOf, usualStepMs, type Ink, type Option, type Point } from '../../../shared/chart/option';
import { largest } from '../../../shared/statistics';
import { LABELS, timeOf, TIMES, toneOfMeasure, type Time } from './heat';

type Series = Schemas['SubtaskSeriesBody'];

/** Where its time went, of one subtask or of several as their mean. */
export function timeSpent(subtasks: readonly Series[], stepS: number, ink: Ink): Option {
  const lines = TIMES.map((time) => ({ name: LABELS[time], colour: coloursOf('time', time, ink.mode).ink, points: meanOf(subtasks, time, stepS * 1000) }));
  return linesOverTime({ lines, ink, said: (value) => percent(value / 1000), stacked: true, max: 1000 });
}

/** Slots tell at moments of their own: what falls into one step is one point. */
export function meanOf(subtasks: readonly Series[], time: Time, stepMs: number): Point[] {
  const steps = new Map<number, number[]>();
  for (const one of subtasks)
    one.at.forEach((moment, place) => {
      const step = Math.floor(toMs(moment)! / stepMs);
      steps.set(step, [...(steps.get(step) ?? []), timeOf(one, time)[place]!]);
    });
  const ordered = [...steps].sort(([a], [b]) => a - b);
  return pointsOf(
    ordered.map(([step]) => new Date(step * stepMs).toISOString()),
    ordered.map(([, values]) => values.reduce((a, b) => a + b, 0) / values.length),
    stepMs,
  );
}

export interface Grid {
  /** Beginnings of steps, without gaps. */
  moments: number[];
  indexes: number[];
  /** Place in moments, place in indexes, share of time. */
  cells: [x: number, y: number, share: number][];
}

/** Subtasks against time. */
export function gridOf(subtasks: readonly Series[], time: Time, stepMs: number): Grid {
  const indexes = subtasks.map(({ index }) => index).sort((a, b) => a - b);
  const all = subtasks.flatMap(({ at }) => at.map((moment) => Math.floor(toMs(moment)! / stepMs)));
  if (all.length === 0) return { moments: [], indexes, cells: [] };
  const first = all.reduce((a, b) => Math.min(a, b));
  const last = all.reduce((a, b) => Math.max(a, b));
  const found = new Map<string, Grid['cells'][number]>();
  for (const one of subtasks) {
    const y = indexes.indexOf(one.index);
    one.at.forEach((moment, place) => {
      const x = Math.floor(toMs(moment)! / stepMs) - first;
      found.set(`${x}.${y}`, [x, y, timeOf(one, time)[place]! / 1000]);
    });
  }
  return { moments: Array.from({ length: last - first + 1 }, (_, place) => (first + place) * stepMs), indexes, cells: [...found.values()] };
}

const SHADES = 5;
const FINE_MS = 180_000;

export function heatOverTime({ moments, indexes, cells }: Grid, measure: Time, ink: Ink): Option {
  const labels = { color: ink.faint, fontSize: 11 };
  // Where there is no more than a few minutes, a name each minute would say nothing.
  const fine = moments.length > 0 && moments.at(-1)! - moments[0]! < FINE_MS;
  const names = moments.map((moment) => (fine ? clock(moment) : clock(moment).slice(0, 5)));
  const bare = { axisLine: { show: false }, axisTick: { show: false }, splitArea: { show: false } };
  return {
    ...frame(ink),
    legend: { show: false },
    grid: { left: 8, right: 16, top: 6, bottom: 6, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    tooltip: {
      ...(frame(ink).tooltip as object),
      formatter: (found) => {
        const [x, y, share] = (Array.isArray(found) ? found[0]! : found).value as Grid['cells'][number];
        return `${absolute(moments[x])}\nsubtask ${indexes[y]}: ${percent(share)} ${LABELS[measure].toLowerCase()}`;
      },
    },
    xAxis: { type: 'category', data: names, ...bare, axisLabel: { ...labels, hideOverlap: true, interval: (place) => names[place] !== names[place - 1] } },
    yAxis: { type: 'category', data: indexes.map((index) => `[${index}]`), inverse: true, ...bare, axisLabel: labels },
    visualMap: {
      show: false, min: 0, max: 1, dimension: 2,
      inRange: { color: Array.from({ length: SHADES }, (_, place) => shade(toneOfMeasure(measure), place / (SHADES - 1), ink.mode).ground) },
    },
    series: [{ type: 'heatmap', data: cells, progressive: 0, emphasis: { disabled: true }, itemStyle: { borderWidth: 0 } }],
  };
}

type Part = Pick<Schemas['PartSeriesBody'], 'alignment_ms' | 'start_delay_ms'>;

/** Of one subtask; `index` null: of the slowest of all. Undefined: there is none, or none of them was measured. */
export function partOf(parts: readonly Schemas['PartSeriesBody'][], chain: number, index: number | null): Part | undefined {
  const own = parts.filter((one) => one.chain === chain && (index === null || one.index === index));
  const [first] = own;
  if (!first || index !== null) return first;
  const slowest = (phase: keyof Part): (number | null)[] => first[phase].map((_, place) => largest(own.map((one) => one[phase][place])));
  return { alignment_ms: slowest('alignment_ms'), start_delay_ms: slowest('start_delay_ms') };
}

/** How long alignment took in each checkpoint, and the delay before it: of a subtask, or of the operator's slowest. */
export function alignmentOverTime({ checkpoints }: Schemas['CheckpointSeriesBody'], part: Part | undefined, ink: Ink): Option {
  const at = checkpoints.map(({ triggered_at }) => triggered_at);
  const none = checkpoints.map(() => null);
  const step = usualStepMs(at);
  return linesOverTime({
    ink, said: duration,
    lines: [
      { name: 'alignment', colour: coloursOf('phase', 'alignment', ink.mode).ink, points: pointsOf(at, part?.alignment_ms ?? none, step), dots: checkpoints.length <= 60 },
      { name: 'start delay', colour: coloursOf('phase', 'start delay', ink.mode).ink, points: pointsOf(at, part?.start_delay_ms ?? none, step), dashed: true },
    ],
  });
}
