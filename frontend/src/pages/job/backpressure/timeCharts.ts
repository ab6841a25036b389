/** Computes charts of the subtasks of an operator over time. Pure. */
import type { Schemas } from '../../../api/types';
import { absolute, clock, duration, percent, toMs } from '../../../format';
import { shade } from '../../../theme/colours';
import { coloursOf } from '../../../theme/states';
import { baseOption, timeSeriesOption, pointsOf, medianStepMs, type ChartTheme, type Option, type Point } from '../../../shared/chart/option';
import { largest, mean } from '../../../shared/statistics';
import { LABELS, timeSeries, TIMES, toneOfMeasure, type Time } from './heatRows';

type Series = Schemas['SubtaskSeriesRead'];

/** Return a stacked chart of busy, idle, backpressured and queued time. The values are means over the subtasks. */
export function timeChart(subtasks: readonly Series[], stepS: number, ink: ChartTheme): Option {
  const lines = TIMES.map((time) => ({ name: LABELS[time], colour: coloursOf('time', time, ink.mode).ink, points: meanTime(subtasks, time, stepS * 1000) }));
  return timeSeriesOption({ lines, theme: ink, format: (value) => percent(value / 1000), stacked: true, max: 1000 });
}

/** Return the mean over the subtasks for each time step. Slots report at different times, so a mean covers all samples within its time step. */
export function meanTime(subtasks: readonly Series[], time: Time, stepMs: number): Point[] {
  const steps = new Map<number, number[]>();
  for (const one of subtasks)
    one.at.forEach((moment, place) => {
      const step = Math.floor(toMs(moment)! / stepMs);
      steps.set(step, [...(steps.get(step) ?? []), timeSeries(one, time)[place]!]);
    });
  const ordered = [...steps].sort(([a], [b]) => a - b);
  return pointsOf(
    ordered.map(([step]) => new Date(step * stepMs).toISOString()),
    ordered.map(([, values]) => mean(values)),
    stepMs,
  );
}

interface Grid {
  /** The start times of all time steps, including steps without samples. */
  moments: number[];
  indexes: number[];
  /** Each cell contains a position in `moments`, a position in `indexes`, and a share of time. */
  cells: [x: number, y: number, share: number][];
}

/** Return a grid with a row per subtask and a column per time step. */
export function buildGrid(subtasks: readonly Series[], time: Time, stepMs: number): Grid {
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
      found.set(`${x}.${y}`, [x, y, timeSeries(one, time)[place]! / 1000]);
    });
  }
  return { moments: Array.from({ length: last - first + 1 }, (_, place) => (first + place) * stepMs), indexes, cells: [...found.values()] };
}

const SHADES = 5;
const FINE_MS = 180_000;

export function heatChart({ moments, indexes, cells }: Grid, measure: Time, ink: ChartTheme): Option {
  const labels = { color: ink.secondaryText, fontSize: 11 };
  // The labels of a short range include seconds, because otherwise several labels would show the same minute.
  const fine = moments.length > 0 && moments.at(-1)! - moments[0]! < FINE_MS;
  const names = moments.map((moment) => (fine ? clock(moment) : clock(moment).slice(0, 5)));
  const bare = { axisLine: { show: false }, axisTick: { show: false }, splitArea: { show: false } };
  return {
    ...baseOption(ink),
    legend: { show: false },
    grid: { left: 8, right: 16, top: 6, bottom: 6, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    tooltip: {
      ...(baseOption(ink).tooltip as object),
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

type Part = Pick<Schemas['CheckpointPhaseSeriesRead'], 'alignment_ms' | 'start_delay_ms'>;

/** Return the alignment series of a subtask, or of the slowest subtask if `index` is null. Return undefined if nothing was measured. */
export function alignmentSeries(parts: readonly Schemas['CheckpointPhaseSeriesRead'][], chain: number, index: number | null): Part | undefined {
  const own = parts.filter((one) => one.chain === chain && (index === null || one.index === index));
  const [first] = own;
  if (!first || index !== null) return first;
  const slowest = (phase: keyof Part): (number | null)[] => first[phase].map((_, place) => largest(own.map((one) => one[phase][place])));
  return { alignment_ms: slowest('alignment_ms'), start_delay_ms: slowest('start_delay_ms') };
}

/** Return a chart of alignment and start delay by checkpoint. */
export function alignmentChart({ checkpoints }: Schemas['CheckpointSeriesRead'], part: Part | undefined, ink: ChartTheme): Option {
  const at = checkpoints.map(({ triggered_at }) => triggered_at);
  const none = checkpoints.map(() => null);
  const step = medianStepMs(at);
  return timeSeriesOption({
    theme: ink, format: duration,
    lines: [
      { name: 'alignment', colour: coloursOf('phase', 'alignment', ink.mode).ink, points: pointsOf(at, part?.alignment_ms ?? none, step), dots: checkpoints.length <= 60 },
      { name: 'start delay', colour: coloursOf('phase', 'start delay', ink.mode).ink, points: pointsOf(at, part?.start_delay_ms ?? none, step), dashed: true },
    ],
  });
}
