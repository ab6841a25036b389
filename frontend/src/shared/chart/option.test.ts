import { describe, expect, it } from 'vitest';

import { linesOverTime, pointsOf, tooltip, usualStepMs, type Ink } from './option';

const INK: Ink = { mode: 'light', text: '#000000', faint: '#666666', line: '#dddddd', paper: '#ffffff', font: 'x' };
const at = (...seconds: number[]): string[] => seconds.map((second) => new Date(second * 1000).toISOString());

describe('points', () => {
  it('belong to their moments', () => {
    expect(pointsOf(at(10, 20), [1, null], 10_000)).toEqual([[10_000, 1], [20_000, null]]);
  });

  it('have a gap between them where nothing was told', () => {
    expect(pointsOf(at(10, 20, 60, 70), [1, 2, 3, 4], 10_000)).toEqual([[10_000, 1], [20_000, 2], [30_000, null], [60_000, 3], [70_000, 4]]);
    expect(pointsOf(at(10, 600), [1, 2])).toHaveLength(2);
  });

  it('are usually as far from each other as most neighbours are', () => {
    expect(usualStepMs(at(0, 10, 21, 30, 900, 910))).toBe(10_000);
    expect(usualStepMs(at(5))).toBe(Infinity);
    expect(usualStepMs([])).toBe(Infinity);
  });
});

describe('lines over time', () => {
  const line = { name: 'busy', colour: '#123456', points: pointsOf(at(1, 2), [5, 7]) };

  it('are drawn in their colours, and named if there are several', () => {
    const one = linesOverTime({ lines: [line], ink: INK, said: String });
    expect(one.series).toMatchObject([{ type: 'line', name: 'busy', data: [[1000, 5], [2000, 7]], lineStyle: { color: '#123456' } }]);
    expect(one.legend).toEqual({ show: false });
    expect(linesOverTime({ lines: [line, { ...line, name: 'idle' }], ink: INK, said: String }).legend).not.toHaveProperty('show');
  });

  it('leave what is small to be seen on a logarithmic scale, and nothing at its floor', () => {
    const wide = { ...line, points: pointsOf(at(1, 2, 3, 4), [13_000, 22, 0, null]) };
    const option = linesOverTime({ lines: [wide], ink: INK, said: (value) => `${value} ms`, scale: 'logarithmic' });
    const axis = option.yAxis as { type: string; min: number; axisLabel: { formatter: (value: number) => string } };
    expect(axis).toMatchObject({ type: 'log', min: 10 });
    expect([10, 100].map(axis.axisLabel.formatter)).toEqual(['≤ 10 ms', '100 ms']);
    const small = linesOverTime({ lines: [{ ...line, points: [[1, 0.4]] }], ink: INK, said: () => '<1 ms', scale: 'logarithmic' }).yAxis as typeof axis;
    expect(small.axisLabel.formatter(small.min)).toBe('<1 ms');
    const [{ data }] = option.series as [{ data: unknown[] }];
    expect(data).toEqual([[1000, 13_000], [2000, 22], [3000, 10, 0], [4000, null]]);
    expect(tooltip([{ seriesName: 'took', value: data[2] }], (value) => `${value} ms`)).toMatch(/\ntook: 0 ms$/);
    expect(linesOverTime({ lines: [{ ...line, points: [[1, 0]] }], ink: INK, said: String, scale: 'logarithmic' }).yAxis).toMatchObject({ min: 1 });
  });

  it('have an axis of round words', () => {
    const axis = linesOverTime({ lines: [line], ink: INK, said: () => '5.0 s' }).yAxis as { axisLabel: { formatter: (value: number) => string } };
    expect([5, 0].map(axis.axisLabel.formatter)).toEqual(['5 s', '0']);
  });

  it('are put on top of each other if they are shares', () => {
    const option = linesOverTime({ lines: [line, line], ink: INK, said: String, stacked: true, max: 1000 });
    expect(option.series).toMatchObject([{ stack: 'all' }, { stack: 'all' }]);
    expect(option.yAxis).toMatchObject({ max: 1000 });
  });
});

it('what is pointed at is told with its moment, without what is not known there', () => {
  const said = tooltip([{ seriesName: 'a', value: [0, 4] }, { seriesName: 'b', value: [0, null] }], (value) => `${value} ms`);
  expect(said.split('\n')).toEqual([expect.stringMatching(/^19(70|69)-/), 'a: 4 ms']);
});
