import { describe, expect, it } from 'vitest';

import { timeSeriesOption, pointsOf, tooltipText, medianStepMs, type ChartTheme } from './option';

const INK: ChartTheme = { mode: 'light', text: '#000000', secondaryText: '#666666', gridLine: '#dddddd', background: '#ffffff', font: 'x' };
const at = (...seconds: number[]): string[] => seconds.map((second) => new Date(second * 1000).toISOString());

describe('points', () => {
  it('points are pairs of time and value', () => {
    expect(pointsOf(at(10, 20), [1, null], 10_000)).toEqual([[10_000, 1], [20_000, null]]);
  });

  it('a line has gaps where samples are missing', () => {
    expect(pointsOf(at(10, 20, 60, 70), [1, 2, 3, 4], 10_000)).toEqual([[10_000, 1], [20_000, 2], [30_000, null], [60_000, 3], [70_000, 4]]);
    expect(pointsOf(at(10, 600), [1, 2])).toHaveLength(2);
  });

  it('the step of a series is the median distance between its points', () => {
    expect(medianStepMs(at(0, 10, 21, 30, 900, 910))).toBe(10_000);
    expect(medianStepMs(at(5))).toBe(Infinity);
    expect(medianStepMs([])).toBe(Infinity);
  });
});

describe('line charts', () => {
  const line = { name: 'busy', colour: '#123456', points: pointsOf(at(1, 2), [5, 7]) };

  it('a line chart has a colour for each line, and a legend if there are several lines', () => {
    const one = timeSeriesOption({ lines: [line], theme: INK, format: String });
    expect(one.series).toMatchObject([{ type: 'line', name: 'busy', data: [[1000, 5], [2000, 7]], lineStyle: { color: '#123456' } }]);
    expect(one.legend).toEqual({ show: false });
    expect(timeSeriesOption({ lines: [line, { ...line, name: 'idle' }], theme: INK, format: String }).legend).not.toHaveProperty('show');
  });

  it('a logarithmic scale shows small values, and shows zero at its lower end', () => {
    const wide = { ...line, points: pointsOf(at(1, 2, 3, 4), [13_000, 22, 0, null]) };
    const option = timeSeriesOption({ lines: [wide], theme: INK, format: (value) => `${value} ms`, scale: 'logarithmic' });
    const axis = option.yAxis as { type: string; min: number; axisLabel: { formatter: (value: number) => string } };
    expect(axis).toMatchObject({ type: 'log', min: 10 });
    expect([10, 100].map(axis.axisLabel.formatter)).toEqual(['≤ 10 ms', '100 ms']);
    const small = timeSeriesOption({ lines: [{ ...line, points: [[1, 0.4]] }], theme: INK, format: () => '<1 ms', scale: 'logarithmic' }).yAxis as typeof axis;
    expect(small.axisLabel.formatter(small.min)).toBe('<1 ms');
    const [{ data }] = option.series as [{ data: unknown[] }];
    expect(data).toEqual([[1000, 13_000], [2000, 22], [3000, 10, 0], [4000, null]]);
    expect(tooltipText([{ seriesName: 'took', value: data[2] }], (value) => `${value} ms`)).toMatch(/\ntook: 0 ms$/);
    expect(timeSeriesOption({ lines: [{ ...line, points: [[1, 0]] }], theme: INK, format: String, scale: 'logarithmic' }).yAxis).toMatchObject({ min: 1 });
  });

  it('line charts have short axis labels', () => {
    const axis = timeSeriesOption({ lines: [line], theme: INK, format: () => '5.0 s' }).yAxis as { axisLabel: { formatter: (value: number) => string } };
    expect([5, 0].map(axis.axisLabel.formatter)).toEqual(['5 s', '0']);
  });

  it('the option `stacked` stacks the lines of a chart, and `max` limits its value axis', () => {
    const option = timeSeriesOption({ lines: [line, line], theme: INK, format: String, stacked: true, max: 1000 });
    expect(option.series).toMatchObject([{ stack: 'all', stackStrategy: 'all' }, { stack: 'all', stackStrategy: 'all' }]);
    expect(option.yAxis).toMatchObject({ max: 1000 });
  });
});

it('a tooltip shows the time and the known values', () => {
  const text = tooltipText([{ seriesName: 'a', value: [0, 4] }, { seriesName: 'b', value: [0, null] }], (value) => `${value} ms`);
  expect(text.split('\n')).toEqual([expect.stringMatching(/^19(70|69)-/), 'a: 4 ms']);
});
