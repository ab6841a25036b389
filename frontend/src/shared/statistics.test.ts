import { describe, expect, it } from 'vitest';

import { largest, stragglerThreshold, summarize } from './statistics';

describe('percentiles', () => {
  it('percentiles are interpolated between two values', () => {
    const found = summarize([4, 1, 3, 2, 5])!;
    expect([found.min, found.max, found.avg, found.p50, found.p90]).toEqual([1, 5, 3, 3, 4.6]);
    expect(found.p999).toBeCloseTo(4.996);
  });

  it('the percentiles of one value are this value, and an empty list has no percentiles', () => {
    expect(summarize([7])).toEqual({ min: 7, max: 7, avg: 7, p50: 7, p90: 7, p95: 7, p99: 7, p999: 7 });
    expect(summarize([])).toBeNull();
  });
});

describe('stragglers', () => {
  it('a single value is not a straggler, and equal values have no stragglers', () => {
    expect(stragglerThreshold([5])).toBeNull();
    expect(stragglerThreshold([10, 10, 10, 10])).toBe(15);
  });

  it('the minimum duration of a straggler is the 95th percentile, but at least 1.5 times the median', () => {
    expect(stragglerThreshold([100, 10, 10, 10])).toBeCloseTo(86.5);
    expect(stragglerThreshold([10, 80, 90, 100])).toBe(127.5);
  });
});

it('the largest value is computed from the known values', () => {
  expect([largest([1, null, 3, undefined]), largest([null]), largest([])]).toEqual([3, null, null]);
});
