import { expect, it } from 'vitest';

import { parseLine } from './logLine';
import { firstRow, ROWS_MAX } from './visibleRows';

const lines = Array.from({ length: 2_000 }, (_, at) => parseLine(`line ${at}`, at * 10));

it('renders the last lines at the end of the log', () => {
  expect(firstRow(lines, null)).toBe(2_000 - ROWS_MAX);
  expect(firstRow(lines.slice(0, 5), null)).toBe(0);
});

it('renders lines above and below the visible part', () => {
  for (const top of [0, 10, 3_333, 10_000, 19_990]) {
    const first = firstRow(lines, top);
    expect(first).toBeLessThanOrEqual(top / 10);
    expect(first + ROWS_MAX).toBeGreaterThan(top / 10);
    if (top >= 500) expect(lines[first]!.offset).toBeLessThanOrEqual(top - 500);
  }
});

it('renders the lines after an offset if a filter hides the line at the offset', () => {
  const filtered = lines.filter((_, at) => at % 3 === 0);
  const first = firstRow(filtered, 5_000);
  expect(filtered.slice(first, first + ROWS_MAX).some(({ offset }) => offset === 5_010)).toBe(true);
});

it('changes the first rendered line only in steps', () => {
  expect(new Set(Array.from({ length: 100 }, (_, at) => firstRow(lines, 5_000 + at * 10))).size).toBeLessThanOrEqual(6);
});
