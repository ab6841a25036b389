import { describe, expect, it } from 'vitest';

import { shade } from '../../../look/shade';
import type { Ink } from '../../../shared/chart/option';
import { alignmentOverTime, gridOf, heatOverTime, meanOf, partOf, timeSpent } from './overTime';
import type { Schemas } from '../../../api/types';

const INK: Ink = { mode: 'light', text: '#000000', faint: '#666666', line: '#dddddd', paper: '#ffffff', font: 'x' };
const series = (index: number, backpressured: number[], firstS = 0): Schemas['SubtaskSeriesBody'] => ({
  chain: 1, index, operators: [], at: backpressured.map((_, place) => new Date((firstS + 10 * place) * 1000).toISOString()),
  records_in_per_s: [], records_out_per_s: [], bytes_in_per_s: [], bytes_out_per_s: [], backpressured_ms_per_s: backpressured,
  busy_ms_per_s: backpressured.map((ms) => 1000 - ms), idle_ms_per_s: backpressured.map(() => 0), queued_ms_per_s: backpressured.map(() => 0),
  backpressure: backpressured.map(() => 'ok' as const),
});

describe('what an operator did', () => {
  it('is the mean of its subtasks, whose slots tell at different moments', () => {
    expect(meanOf([series(0, [100, 200]), series(1, [300, 400], 3)], 'backpressured', 10_000)).toEqual([[0, 200], [10_000, 300]]);
    expect(meanOf([series(0, [100, 200])], 'busy', 10_000)).toEqual([[0, 900], [10_000, 800]]);
  });

  it('is interrupted where it was not told', () => {
    const two = [series(0, [100]), series(0, [300], 60)];
    expect(meanOf(two, 'backpressured', 10_000)).toEqual([[0, 100], [10_000, null], [60_000, 300]]);
  });

  it('adds up to a whole', () => {
    expect(timeSpent([series(0, [250])], 10, INK)).toMatchObject({ yAxis: { max: 1000 }, series: [{ name: 'Back-pressured', data: [[0, 250]] }, { name: 'Busy', data: [[0, 750]] }, {}, {}] });
  });
});

describe('subtasks against time', () => {
  it('have a cell for each step in which they told something', () => {
    const grid = gridOf([series(3, [100], 20), series(0, [500, 250])], 'backpressured', 10_000);
    expect(grid.moments).toEqual([0, 10_000, 20_000]);
    expect(grid.indexes).toEqual([0, 3]);
    expect(grid.cells.sort()).toEqual([[0, 0, 0.5], [1, 0, 0.25], [2, 1, 0.1]]);
    expect(gridOf([], 'busy', 10_000)).toEqual({ moments: [], indexes: [], cells: [] });
  });

  it('say which moment and subtask it is, with day and zone', () => {
    const grid = gridOf([series(3, [500])], 'backpressured', 10_000);
    const { tooltip } = heatOverTime(grid, 'backpressured', INK) as { tooltip: { formatter: (found: { value: unknown }) => string } };
    expect(tooltip.formatter({ value: grid.cells[0] })).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+\nsubtask 3: 50/);
  });

  it.each([
    [12, /:\d\d:/, 12],
    [60, /^\d\d:\d\d$/, 10],
  ])('name each moment of a few minutes, and each minute of more: of %d steps', (steps, wanted, named) => {
    const { xAxis } = heatOverTime(gridOf([series(0, Array.from({ length: steps }, () => 0))], 'busy', 10_000), 'busy', INK) as { xAxis: { data: string[]; axisLabel: { interval: (place: number) => boolean } } };
    expect(xAxis.data[0]).toMatch(wanted);
    expect(xAxis.data.filter((_, place) => xAxis.axisLabel.interval(place))).toHaveLength(named);
  });

  it('are coloured from paper on', () => {
    const { visualMap } = heatOverTime(gridOf([series(0, [500])], 'backpressured', 10_000), 'backpressured', INK) as { visualMap: { inRange: { color: string[] } } };
    expect(visualMap.inRange.color[0]).toBe(shade('bad', 0, 'light').ground);
    expect(new Set(visualMap.inRange.color).size).toBeGreaterThan(2);
  });
});

it('alignment is told checkpoint by checkpoint', () => {
  const body: Schemas['CheckpointSeriesBody'] = {
    checkpoints: [1, 2].map((number) => ({
      id: number, number, triggered_at: new Date(number * 1000).toISOString(), is_savepoint: false, end_to_end_ms: 1, state_bytes: 1, checkpointed_bytes: 1, start_delay_ms: 1, alignment_ms: 1, sync_ms: 1, async_ms: 1,
    })),
    parts: [{ chain: 1, index: 0, operators: [], start_delay_ms: [1, 2], alignment_ms: [30, null], sync_ms: [0, 0], async_ms: [0, 0] }],
  };
  expect(alignmentOverTime(body, body.parts[0], INK).series).toMatchObject([{ data: [[1000, 30], [2000, null]] }, { data: [[1000, 1], [2000, 2]] }]);
  expect(alignmentOverTime(body, undefined, INK).series).toMatchObject([{ data: [[1000, null], [2000, null]] }, {}]);
});

describe('the part of an operator', () => {
  const part = (chain: number, index: number, alignment_ms: (number | null)[]): Schemas['PartSeriesBody'] => ({
    chain, index, operators: [], start_delay_ms: alignment_ms.map((ms) => ms && ms / 10), alignment_ms, sync_ms: [], async_ms: [],
  });
  const parts = [part(1, 0, [10, null, null]), part(1, 1, [30, 20, null]), part(2, 0, [99, 99, 99])];

  it('is that of its slowest subtask, checkpoint by checkpoint', () => {
    expect(partOf(parts, 1, null)).toEqual({ alignment_ms: [30, 20, null], start_delay_ms: [3, 2, null] });
  });

  it('is that of the one subtask which is looked at', () => {
    expect(partOf(parts, 1, 0)).toBe(parts[0]);
  });

  it('is not there if none was told', () => {
    expect(partOf(parts, 3, null)).toBeUndefined();
    expect(partOf(parts, 1, 7)).toBeUndefined();
  });
});
