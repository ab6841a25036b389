import { describe, expect, it } from 'vitest';

import { shade } from '../../../theme/colours';
import type { ChartTheme } from '../../../shared/chart/option';
import { alignmentChart, buildGrid, heatChart, meanTime, alignmentSeries, timeChart } from './timeCharts';
import type { Schemas } from '../../../api/types';

const INK: ChartTheme = { mode: 'light', text: '#000000', secondaryText: '#666666', gridLine: '#dddddd', background: '#ffffff', font: 'x' };
const series = (index: number, backpressured: number[], firstS = 0): Schemas['SubtaskSeriesRead'] => ({
  chain: 1, index, operators: [], at: backpressured.map((_, place) => new Date((firstS + 10 * place) * 1000).toISOString()),
  records_in_per_s: [], records_out_per_s: [], bytes_in_per_s: [], bytes_out_per_s: [], backpressured_ms_per_s: backpressured,
  busy_ms_per_s: backpressured.map((ms) => 1000 - ms), idle_ms_per_s: backpressured.map(() => 0), queued_ms_per_s: backpressured.map(() => 0), pressure_ms_per_s: backpressured,
  backpressure: backpressured.map(() => 'ok' as const),
});

describe('the busy, idle, backpressured and queued time of an operator', () => {
  it('the time of an operator is the mean over its subtasks, even if slots report at different times', () => {
    expect(meanTime([series(0, [100, 200]), series(1, [300, 400], 3)], 'backpressured', 10_000)).toEqual([[0, 200], [10_000, 300]]);
    expect(meanTime([series(0, [100, 200])], 'busy', 10_000)).toEqual([[0, 900], [10_000, 800]]);
  });

  it('a time series has a gap where samples are missing', () => {
    const two = [series(0, [100]), series(0, [300], 60)];
    expect(meanTime(two, 'backpressured', 10_000)).toEqual([[0, 100], [10_000, null], [60_000, 300]]);
  });

  it('busy, idle, backpressured and queued time add up to 100 %', () => {
    expect(timeChart([series(0, [250])], 10, INK)).toMatchObject({ yAxis: { max: 1000 }, series: [{ name: 'Backpressured', data: [[0, 250]] }, { name: 'Busy', data: [[0, 750]] }, {}, {}] });
  });
});

describe('the grid of subtasks and time', () => {
  it('the grid has a cell for each sample', () => {
    const grid = buildGrid([series(3, [100], 20), series(0, [500, 250])], 'backpressured', 10_000);
    expect(grid.moments).toEqual([0, 10_000, 20_000]);
    expect(grid.indexes).toEqual([0, 3]);
    expect(grid.cells.sort()).toEqual([[0, 0, 0.5], [1, 0, 0.25], [2, 1, 0.1]]);
    expect(buildGrid([], 'busy', 10_000)).toEqual({ moments: [], indexes: [], cells: [] });
  });

  it('a tooltip shows the time, the time zone and the subtask', () => {
    const grid = buildGrid([series(3, [500])], 'backpressured', 10_000);
    const { tooltip } = heatChart(grid, 'backpressured', INK) as { tooltip: { formatter: (found: { value: unknown }) => string } };
    expect(tooltip.formatter({ value: grid.cells[0] })).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+\nsubtask 3: 50/);
  });

  it.each([
    [12, /:\d\d:/, 12],
    [60, /^\d\d:\d\d$/, 10],
  ])('the time axis labels each step of a short range and each minute of a long range: %d steps', (steps, expected, named) => {
    const { xAxis } = heatChart(buildGrid([series(0, Array.from({ length: steps }, () => 0))], 'busy', 10_000), 'busy', INK) as { xAxis: { data: string[]; axisLabel: { interval: (place: number) => boolean } } };
    expect(xAxis.data[0]).toMatch(expected);
    expect(xAxis.data.filter((_, place) => xAxis.axisLabel.interval(place))).toHaveLength(named);
  });

  it('the colour scale starts at the background colour', () => {
    const { visualMap } = heatChart(buildGrid([series(0, [500])], 'backpressured', 10_000), 'backpressured', INK) as { visualMap: { inRange: { color: string[] } } };
    expect(visualMap.inRange.color[0]).toBe(shade('bad', 0, 'light').ground);
    expect(new Set(visualMap.inRange.color).size).toBeGreaterThan(2);
  });
});

it('the alignment chart has a point for each checkpoint', () => {
  const body: Schemas['CheckpointSeriesRead'] = {
    checkpoints: [1, 2].map((number) => ({
      id: number, number, triggered_at: new Date(number * 1000).toISOString(), is_savepoint: false, end_to_end_ms: 1, state_bytes: 1, checkpointed_bytes: 1, start_delay_ms: 1, alignment_ms: 1, sync_ms: 1, async_ms: 1,
    })),
    phases: [{ chain: 1, index: 0, operators: [], start_delay_ms: [1, 2], alignment_ms: [30, null], sync_ms: [0, 0], async_ms: [0, 0] }],
  };
  expect(alignmentChart(body, body.phases[0], INK).series).toMatchObject([{ data: [[1000, 30], [2000, null]] }, { data: [[1000, 1], [2000, 2]] }]);
  expect(alignmentChart(body, undefined, INK).series).toMatchObject([{ data: [[1000, null], [2000, null]] }, {}]);
});

describe('the alignment series of an operator', () => {
  const part = (chain: number, index: number, alignment_ms: (number | null)[]): Schemas['CheckpointPhaseSeriesRead'] => ({
    chain, index, operators: [], start_delay_ms: alignment_ms.map((ms) => ms && ms / 10), alignment_ms, sync_ms: [], async_ms: [],
  });
  const parts = [part(1, 0, [10, null, null]), part(1, 1, [30, 20, null]), part(2, 0, [99, 99, 99])];

  it('for each checkpoint, the series contains the longest alignment among the subtasks of the operator', () => {
    expect(alignmentSeries(parts, 1, null)).toEqual({ alignment_ms: [30, 20, null], start_delay_ms: [3, 2, null] });
  });

  it('the series contains only the alignment of the selected subtask', () => {
    expect(alignmentSeries(parts, 1, 0)).toBe(parts[0]);
  });

  it('the series is undefined if nothing was measured', () => {
    expect(alignmentSeries(parts, 3, null)).toBeUndefined();
    expect(alignmentSeries(parts, 1, 7)).toBeUndefined();
  });
});
