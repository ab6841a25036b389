/** What all charts have in common: calm axes, a tooltip that the canvas draws itself, colours of the theme. Pure. */
import type { HeatmapSeriesOption, LineSeriesOption } from 'echarts/charts';
import type { GridComponentOption, LegendComponentOption, TooltipComponentOption, VisualMapComponentOption } from 'echarts/components';
import type { ComposeOption } from 'echarts/core';

import { absolute, toMs, untenthed } from '../../format';
import type { Mode } from '../../look/states';

export type Option = ComposeOption<
  LineSeriesOption | HeatmapSeriesOption | GridComponentOption | LegendComponentOption | TooltipComponentOption | VisualMapComponentOption
>;
/** A moment and a value; null: not known, so the line is interrupted. */
export type Point = [ms: number, value: number | null];

/** What of the theme a chart needs. */
export interface Ink {
  mode: Mode;
  text: string;
  faint: string;
  line: string;
  paper: string;
  font: string;
}

export interface Line {
  name: string;
  colour: string;
  points: Point[];
  /** Dashed lines can be told apart without their colours. */
  dashed?: boolean;
  /** Shows each point: for few of them. */
  dots?: boolean;
}

interface Lines {
  lines: readonly Line[];
  ink: Ink;
  /** Of a value, in words. */
  said: (value: number) => string;
  /** On top of each other, as shares of a whole. */
  stacked?: boolean;
  max?: number;
  scale?: Scale;
}

/** Logarithmic: one checkpoint of 13 s leaves a hundred of 20 ms to be seen. */
export type Scale = 'linear' | 'logarithmic';

export function frame(ink: Ink): Pick<Option, 'animation' | 'textStyle' | 'tooltip' | 'legend' | 'grid'> {
  return {
    animation: false,
    textStyle: { fontFamily: ink.font, color: ink.text },
    grid: { left: 8, right: 12, top: 10, bottom: 26, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    legend: { bottom: 0, left: 4, itemWidth: 16, itemHeight: 8, icon: 'roundRect', textStyle: { color: ink.faint, fontSize: 11 } },
    tooltip: {
      // Not as HTML: what is in it (names of operators) is other people's text.
      renderMode: 'richText', confine: true, backgroundColor: ink.paper, borderColor: ink.line, padding: [6, 9],
      textStyle: { color: ink.text, fontSize: 12, fontFamily: ink.font },
    },
  };
}

/** Lines over time. */
export function linesOverTime({ lines, ink, said, stacked = false, max, scale = 'linear' }: Lines): Option {
  const floor = scale === 'logarithmic' ? floorOf(lines) : null;
  const axis = { axisLine: { show: false }, axisTick: { show: false }, axisLabel: { color: ink.faint, fontSize: 11, hideOverlap: true } };
  return {
    ...frame(ink),
    ...(lines.length < 2 ? { legend: { show: false }, grid: { ...(frame(ink).grid as GridComponentOption), bottom: 6 } } : {}),
    tooltip: {
      ...(frame(ink).tooltip as TooltipComponentOption), trigger: 'axis', axisPointer: { lineStyle: { color: ink.faint } },
      formatter: (found) => tooltip(Array.isArray(found) ? found : [found], said),
    },
    xAxis: { type: 'time', ...axis, splitLine: { show: false } },
    yAxis: {
      ...(floor === null ? { type: 'value' as const, min: 0 } : { type: 'log' as const, logBase: 10, min: floor }), ...axis, ...(max === undefined ? { minInterval: 1 } : { max, interval: max / 4 }), splitNumber: 3, splitLine: { lineStyle: { color: ink.line } },
      axisLabel: { ...axis.axisLabel, formatter: (value: number) => (value === floor ? orLess(onAxis(value, said)) : onAxis(value, said)) },
    },
    series: lines.map(({ name, colour, points, dashed = false, dots = false }) => ({
      type: 'line' as const, name, data: floor === null ? points : points.map((point) => above(floor, point)), showSymbol: dots, symbol: 'circle', symbolSize: 4, connectNulls: false,
      itemStyle: { color: colour }, lineStyle: { width: stacked ? 1 : 1.5, type: dashed ? ('dashed' as const) : ('solid' as const), color: colour },
      ...(stacked ? { stack: 'all', areaStyle: { color: colour, opacity: 0.35 } } : {}),
      emphasis: { disabled: true },
    })),
  };
}

/** The power of ten below all that is more than nothing. */
function floorOf(lines: readonly Line[]): number {
  const least = lines.flatMap(({ points }) => points).reduce((found, [, value]) => (value !== null && value > 0 && value < found ? value : found), Infinity);
  return Number.isFinite(least) ? 10 ** Math.floor(Math.log10(least)) : 1;
}

/** Nothing has no logarithm: it is drawn at the floor, and told as what it is. */
function above(floor: number, [ms, value]: Point): Point | [...Point, number] {
  return value !== null && value < floor ? [ms, floor, value] : [ms, value];
}

/** Of the floor, at which all is drawn that is less. */
const orLess = (said: string): string => (said.startsWith('<') ? said : `≤ ${said}`);

/** 5 s and not 5.0 s, which says how well something was measured; and nothing is nothing in every unit. */
const onAxis = (value: number, said: (value: number) => string): string => (value === 0 ? '0' : untenthed(said(value)));

interface Pointed {
  seriesName?: string;
  value?: unknown;
}

/** When, and what each line says. */
export function tooltip(pointed: readonly Pointed[], said: (value: number) => string): string {
  const at = pointed.map(({ value }) => (Array.isArray(value) ? (value[0] as number) : null)).find((one) => one !== null);
  const rows = pointed.flatMap(({ seriesName, value }) => (Array.isArray(value) && typeof value[1] === 'number' ? [`${seriesName}: ${said(Number(value[2] ?? value[1]))}`] : []));
  return [absolute(at), ...rows].join('\n');
}

/** Where nothing was told for longer than this many steps the line is interrupted. */
const GAP_STEPS = 2.5;

/** Points of a series whose lists belong together. Between two that are far from each other there is a gap. */
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

/** How far two neighbours usually are from each other, in ms (the median): for series of what has no fixed step. */
export function usualStepMs(at: readonly string[]): number {
  const moments = at.map(toMs).filter((one) => one !== null);
  const steps = moments.slice(1).map((one, place) => one - moments[place]!).filter((step) => step > 0).sort((a, b) => a - b);
  return steps[Math.floor((steps.length - 1) / 2)] ?? Infinity;
}
