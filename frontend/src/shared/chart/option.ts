/** Pure functions for the options that all charts share, such as axes, a tooltip that is drawn on the canvas, and the theme's colours. */
import type { HeatmapSeriesOption, LineSeriesOption } from 'echarts/charts';
import type { GridComponentOption, LegendComponentOption, TooltipComponentOption, VisualMapComponentOption } from 'echarts/components';
import type { ComposeOption } from 'echarts/core';

import { absolute, toMs, dropZeroTenths } from '../../format';
import type { Mode } from '../../theme/states';

export type Option = ComposeOption<
  LineSeriesOption | HeatmapSeriesOption | GridComponentOption | LegendComponentOption | TooltipComponentOption | VisualMapComponentOption
>;
/** A point of a line, with a time and a value. A null value is unknown, and interrupts the line. */
export type Point = [ms: number, value: number | null];

/** The colours and font of a chart. */
export interface ChartTheme {
  mode: Mode;
  text: string;
  secondaryText: string;
  gridLine: string;
  background: string;
  font: string;
}

export interface Series {
  name: string;
  colour: string;
  points: Point[];
  /** Whether the line is dashed. Users can distinguish dashed and solid lines without relying on colour. */
  dashed?: boolean;
  /** Whether to draw a dot for each point, which is useful for short series. */
  dots?: boolean;
}

interface TimeSeriesProps {
  lines: readonly Series[];
  theme: ChartTheme;
  /** Formats a value. */
  format: (value: number) => string;
  /** Whether to stack the lines. Only shares that add up to 1 may be stacked. */
  stacked?: boolean;
  max?: number;
  scale?: Scale;
}

/** The scale of the value axis. On a logarithmic scale, checkpoints of 20 ms are distinguishable even if another checkpoint took 13 s. */
export type Scale = 'linear' | 'logarithmic';

export function baseOption(ink: ChartTheme): Pick<Option, 'animation' | 'textStyle' | 'tooltip' | 'legend' | 'grid'> {
  return {
    animation: false,
    textStyle: { fontFamily: ink.font, color: ink.text },
    grid: { left: 8, right: 12, top: 10, bottom: 26, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    legend: { bottom: 0, left: 4, itemWidth: 16, itemHeight: 8, icon: 'roundRect', textStyle: { color: ink.secondaryText, fontSize: 11 } },
    tooltip: {
      // Draw the tooltip without HTML, because operator names are user input.
      renderMode: 'richText', confine: true, backgroundColor: ink.background, borderColor: ink.gridLine, padding: [6, 9],
      textStyle: { color: ink.text, fontSize: 12, fontFamily: ink.font },
    },
  };
}

/** A line chart over time. */
export function timeSeriesOption({ lines, theme, format, stacked = false, max, scale = 'linear' }: TimeSeriesProps): Option {
  const floor = scale === 'logarithmic' ? floorOf(lines) : null;
  const axis = { axisLine: { show: false }, axisTick: { show: false }, axisLabel: { color: theme.secondaryText, fontSize: 11, hideOverlap: true } };
  return {
    ...baseOption(theme),
    ...(lines.length < 2 ? { legend: { show: false }, grid: { ...(baseOption(theme).grid as GridComponentOption), bottom: 6 } } : {}),
    tooltip: {
      ...(baseOption(theme).tooltip as TooltipComponentOption), trigger: 'axis', axisPointer: { lineStyle: { color: theme.secondaryText } },
      formatter: (found) => tooltipText(Array.isArray(found) ? found : [found], format),
    },
    xAxis: { type: 'time', ...axis, splitLine: { show: false } },
    yAxis: {
      ...(floor === null ? { type: 'value' as const, min: 0 } : { type: 'log' as const, logBase: 10, min: floor }), ...axis, ...(max === undefined ? { minInterval: 1 } : { max, interval: max / 4 }), splitNumber: 3, splitLine: { lineStyle: { color: theme.gridLine } },
      axisLabel: { ...axis.axisLabel, formatter: (value: number) => (value === floor ? orLess(axisLabel(value, format)) : axisLabel(value, format)) },
    },
    series: lines.map(({ name, colour, points, dashed = false, dots = false }) => ({
      type: 'line' as const, name, data: floor === null ? points : points.map((point) => raiseToFloor(floor, point)), showSymbol: dots, symbol: 'circle', symbolSize: 4, connectNulls: false,
      itemStyle: { color: colour }, lineStyle: { width: stacked ? 1 : 1.5, type: dashed ? ('dashed' as const) : ('solid' as const), color: colour },
      // Rounding can make a share slightly negative. By default, the chart would draw such a share at zero instead of on the other lines.
      ...(stacked ? { stack: 'all', stackStrategy: 'all' as const, areaStyle: { color: colour, opacity: 0.35 } } : {}),
      emphasis: { disabled: true },
    })),
  };
}

/** Return the largest power of ten that does not exceed the smallest positive value, or 1 if no value is positive. */
function floorOf(lines: readonly Series[]): number {
  const least = lines.flatMap(({ points }) => points).reduce((found, [, value]) => (value !== null && value > 0 && value < found ? value : found), Infinity);
  return Number.isFinite(least) ? 10 ** Math.floor(Math.log10(least)) : 1;
}

/** Zero has no logarithm, so draw zero at the lowest value of the axis, and keep the value 0 for the tooltip. */
function raiseToFloor(floor: number, [ms, value]: Point): Point | [...Point, number] {
  return value !== null && value < floor ? [ms, floor, value] : [ms, value];
}

/** Return the label of the lowest value of the axis. The label starts with `≤`, because smaller values are drawn at the lowest value as well. */
const orLess = (label: string): string => (label.startsWith('<') ? label : `≤ ${label}`);

/** Return a short axis label, such as `5 s` instead of `5.0 s`, and `0` without a unit. */
const axisLabel = (value: number, format: (value: number) => string): string => (value === 0 ? '0' : dropZeroTenths(format(value)));

interface HoveredPoint {
  seriesName?: string;
  value?: unknown;
}

/** Return the text of a tooltip, which contains the time and the value of each line. */
export function tooltipText(pointed: readonly HoveredPoint[], format: (value: number) => string): string {
  const at = pointed.map(({ value }) => (Array.isArray(value) ? (value[0] as number) : null)).find((one) => one !== null);
  const rows = pointed.flatMap(({ seriesName, value }) => (Array.isArray(value) && typeof value[1] === 'number' ? [`${seriesName}: ${format(Number(value[2] ?? value[1]))}`] : []));
  return [absolute(at), ...rows].join('\n');
}

/** A line has a gap where points are missing for this number of steps. */
const GAP_STEPS = 2.5;

/** Combine times and values into points, with a null point in each gap. */
export function pointsOf(at: readonly string[], values: readonly (number | null)[], stepMs = Infinity): Point[] {
  const found: Point[] = [];
  let before: number | null = null;
  at.forEach((moment, place) => {
    const ms = toMs(moment);
    if (ms === null) return;
    if (before !== null && ms - before > GAP_STEPS * stepMs) found.push([before + stepMs, null]);
    found.push([ms, values[place] ?? null]);
    before = ms;
  });
  return found;
}

/** Return the median distance between neighbouring points in ms, for series without a fixed step. */
export function medianStepMs(at: readonly string[]): number {
  const moments = at.map(toMs).filter((one) => one !== null);
  const steps = moments.slice(1).map((one, place) => one - moments[place]!).filter((step) => step > 0).sort((a, b) => a - b);
  return steps[Math.floor((steps.length - 1) / 2)] ?? Infinity;
}
