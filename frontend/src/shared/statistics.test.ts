import { describe, expect, it } from 'vitest';

import { largest, stragglerLimit, summaryOf } from './statistics';

describe('summaries', () => {
  it('interpolate between two values, as the backend does', () => {
    const found = summaryOf([4, 1, 3, 2, 5])!;
    expect([found.min, found.max, found.avg, found.p50, found.p90]).toEqual([1, 5, 3, 3, 4.6]);
    expect(found.p999).toBeCloseTo(4.996);
  });

  it('of one value are that value, and of none nothing', () => {
    expect(summaryOf([7])).toEqual({ min: 7, max: 7, avg: 7, p50: 7, p90: 7, p95: 7, p99: 7, p999: 7 });
    expect(summaryOf([])).toBeNull();
  });
});

describe('stragglers', () => {
  it('are not found alone or among equals', () => {
    expect(stragglerLimit([5])).toBeNull();
    expect(stragglerLimit([10, 10, 10, 10])).toBe(15);
  });

  it('take at least the 95th percentile where others take long, too', () => {
    expect(stragglerLimit([100, 10, 10, 10])).toBeCloseTo(86.5);
    expect(stragglerLimit([10, 80, 90, 100])).toBe(127.5);
  });
});

it('the largest of what is known', () => {
  expect([largest([1, null, 3, undefined]), largest([null]), largest([])]).toEqual([3, null, null]);
});
