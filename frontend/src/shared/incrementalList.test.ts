import { describe, expect, it } from 'vitest';

import { advance, isComplete, emptyList, setTarget, type IncrementalList } from './incrementalList';

const all = <Row>(rows: readonly Row[]): IncrementalList<Row> => ({ source: rows, target: rows, shown: rows, position: 0, remaining: 0 });

/** Return the rows that are shown after each frame. */
function frames<Row>(before: readonly Row[], target: readonly Row[], rowsPerFrame: number): (readonly Row[])[] {
  const seen: (readonly Row[])[] = [];
  let now = setTarget(all(before), target);
  while (!isComplete(now)) seen.push((now = advance(now, rowsPerFrame)).shown);
  return seen;
}

describe('an incremental list', () => {
  it('a short list is complete after one step', () => {
    const first = advance(setTarget(emptyList<string>(), ['a', 'b']), 10);
    expect(first.shown).toEqual(['a', 'b']);
    expect(isComplete(first)).toBe(true);
  });

  it('the list grows by a fixed number of rows per frame', () => {
    expect(frames([], ['a', 'b', 'c', 'd', 'e'], 2)).toEqual([['a', 'b'], ['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']]);
  });

  it('shows an old row until the update reaches this row', () => {
    expect(frames(['a', 'b', 'c'], ['A', 'B', 'C'], 2)).toEqual([['A', 'B', 'c'], ['A', 'B', 'C']]);
  });

  it('does not count unchanged rows as updates', () => {
    expect(frames(['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'D'], 1)).toEqual([['a', 'b', 'c', 'D']]);
  });

  it('removes surplus rows immediately', () => {
    expect(setTarget(all(['a', 'b', 'c']), ['x']).shown).toEqual(['a']);
    expect(setTarget(all(['a', 'b', 'c']), []).shown).toEqual([]);
  });

  it('the update continues from the shown rows if the target changes', () => {
    const half = advance(setTarget(emptyList<string>(), ['a', 'b', 'c', 'd']), 2);
    let now = setTarget(half, ['a', 'B', 'C']);
    expect((now = advance(now, 1)).shown).toEqual(['a', 'b', 'C']);
    expect((now = advance(now, 1)).shown).toEqual(['a', 'B', 'C']);
    expect(isComplete(now)).toBe(true);
  });

  it('updates all rows even if the target changes in each frame', () => {
    let now = all([0, 0, 0, 0]);
    for (let round = 1; round <= 4; round += 1) now = advance(setTarget(now, [round, round, round, round]), 1);
    expect(now.shown).toEqual([1, 2, 3, 4]);
  });

  it('the list has no gaps if the length of the target changes', () => {
    let now = emptyList<number>();
    for (const length of [7, 3, 0, 9, 2, 12, 5, 5, 8]) {
      now = advance(setTarget(now, Array.from({ length }, (_, place) => place)), 2);
      expect(now.shown).toEqual(Array.from({ length: now.shown.length }, (_, place) => place));
      expect(now.position).toBeLessThanOrEqual(now.shown.length);
    }
    while (!isComplete(now)) now = advance(now, 2);
    expect(now.shown).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('keeps the old row object if the old row and the new row are equal', () => {
    const before = [{ name: 'a', count: 1 }, { name: 'b', count: 1 }];
    const now = advance(setTarget(all(before), [{ name: 'a', count: 1 }, { name: 'b', count: 2 }], (one, other) => one.name === other.name && one.count === other.count), 1);
    expect(now.shown[0]).toBe(before[0]);
    expect(now.shown[1]).toEqual({ name: 'b', count: 2 });
    expect(isComplete(now)).toBe(true);
  });

  it('accepts undefined rows', () => {
    expect(frames<undefined>([], [undefined, undefined], 1)).toEqual([[undefined], [undefined, undefined]]);
  });

  it('an empty list is complete', () => {
    expect(isComplete(setTarget(emptyList(), []))).toBe(true);
  });
});
