import { describe, expect, it } from 'vitest';

import { absolute, bytes, bytesPerSecond, clock, clockWithDate, clockWithMs, count, pluralize, pluralizeShort, duration, NO_VALUE, percent, perSecond, relative } from '.';

describe('number formats', () => {
  it.each([
    [0, '0 B'], [999, '999 B'], [1000, '1 kB'], [1234, '1.23 kB'], [12_345, '12.3 kB'], [999_499, '999 kB'], [999_600, '1 MB'],
    [1_500_000_000, '1.5 GB'], [100_000, '100 kB'], [7e18, '7000 PB'],
  ])('%d bytes are shown as %s', (value, shown) => expect(bytes(value)).toBe(shown));

  it.each([[0, '0/s'], [0.25, '0.25/s'], [9.5, '9.5/s'], [120, '120/s'], [12_300, '12.3 k/s'], [4_560_000, '4.56 M/s']])(
    'a rate of %d per second is shown as %s', (value, shown) => expect(perSecond(value)).toBe(shown),
  );

  it('numbers are formatted as byte rates, counts and percentages', () => {
    expect(bytesPerSecond(2_500_000)).toBe('2.5 MB/s');
    expect(count(1234567)).toBe('1,234,567');
    expect([0, 1, 1200].map((value) => pluralize(value, 'file'))).toEqual(['0 files', '1 file', '1,200 files']);
    expect([0, 1, 310, 12_840, 2_418_000].map((value) => pluralizeShort(value, 'record'))).toEqual(['0 records', '1 record', '310 records', '12.8 k records', '2.42 M records']);
    expect([0, 0.004, 0.42, 0.996, 1].map(percent)).toEqual(['0 %', '<1 %', '42 %', '>99 %', '100 %']);
  });

  it('unknown values are shown as a dash', () => {
    for (const format of [bytes, bytesPerSecond, perSecond, count, percent, duration])
      for (const value of [null, undefined, Number.NaN]) expect(format(value)).toBe(NO_VALUE);
    expect([relative(null, 0), absolute(undefined), clock('no time'), clockWithDate(null, 0)]).toEqual([NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE]);
  });
});

describe('duration formats', () => {
  it.each([
    [0, '0 ms'], [0.4, '<1 ms'], [84, '84 ms'], [999.4, '999 ms'], [999.6, '1.0 s'], [4_200, '4.2 s'], [9_960, '10.0 s'], [11_340, '11.3 s'], [11_004, '11.0 s'],
    [42_000, '42 s'], [59_600, '59.6 s'], [59_960, '1 min'], [192_000, '3 min 12 s'], [180_000, '3 min'], [5 * 3_600_000 + 420_000, '5 h 07 min'], [76 * 3_600_000, '3 d 4 h'], [-1500, '-1.5 s'],
  ])('%d ms are shown as %s', (ms, shown) => expect(duration(ms)).toBe(shown));
});

describe('time formats', () => {
  const NOW = Date.parse('2026-11-22T03:08:02Z');

  it.each([
    [0, 'just now'], [-5_900, '5 s ago'], [-59_900, '59 s ago'], [-60_000, '1 min ago'], [-3_600_000, '1 h ago'], [-3_900_000, '1 h 05 min ago'], [-5_400_000, '1 h 30 min ago'], [-86_399_000, '23 h 59 min ago'], [-25 * 3_600_000, '25 h ago'], [-47 * 3_600_000, '47 h ago'],
    [-49 * 3_600_000, '2 d ago'], [180_000, 'in 3 min'], [9_000_000, 'in 2 h 30 min'],
  ])('a time %d ms from now is shown as %s', (away, shown) => expect(relative(NOW + away, NOW)).toBe(shown));

  it('an absolute time includes the time zone', () => {
    expect(absolute('2026-11-22T03:08:02Z', 'UTC')).toBe('2026-11-22 03:08:02 UTC');
    expect(absolute('2026-11-22T23:30:00Z', 'Asia/Kolkata')).toBe('2026-11-23 05:00:00 GMT+5:30');
    expect(clock(NOW, 'UTC')).toBe('03:08:02');
  });

  it('the time of another day includes the date, and the time of another year also includes the year', () => {
    const times = ['2026-11-22T00:30:00Z', '2026-11-21T23:30:00Z', '2025-12-31T10:00:00Z'];
    expect(times.map((at) => clockWithDate(at, NOW, 'UTC'))).toEqual(['00:30:00', '11-21 23:30:00', '2025-12-31 10:00:00']);
    expect(clockWithDate('2026-11-21T23:30:00Z', NOW, 'Asia/Kolkata')).toBe('05:00:00');
  });

  it('the time of a log line includes milliseconds', () => {
    expect(clockWithMs('2026-11-22T00:30:00.007Z', NOW, 'UTC')).toBe('00:30:00.007');
    expect(clockWithMs('2026-11-21T23:30:00.250918Z', NOW, 'UTC')).toBe('11-21 23:30:00.250');
    expect(clockWithMs(null, NOW)).toBe(NO_VALUE);
  });

  it('times with a zone other than UTC are parsed correctly', () => {
    expect(relative('2026-11-22T04:08:00+01:00', NOW)).toBe('2 s ago');
  });
});
