import { describe, expect, it } from 'vitest';

import { further, isDone, nothing, towards, type Gradual } from './gradual';

const all = <Row>(rows: readonly Row[]): Gradual<Row> => ({ asked: rows, wanted: rows, shown: rows, at: 0, left: 0 });

/** What is shown after each frame. */
function frames<Row>(before: readonly Row[], asked: readonly Row[], atOnce: number): (readonly Row[])[] {
  const seen: (readonly Row[])[] = [];
  let now = towards(all(before), asked);
  while (!isDone(now)) seen.push((now = further(now, atOnce)).shown);
  return seen;
}

describe('a list that comes over several frames', () => {
  it('begins with nothing, and is complete at once if it is short', () => {
    const first = further(towards(nothing<string>(), ['a', 'b']), 10);
    expect(first.shown).toEqual(['a', 'b']);
    expect(isDone(first)).toBe(true);
  });

  it('grows by so many rows a frame', () => {
    expect(frames([], ['a', 'b', 'c', 'd', 'e'], 2)).toEqual([['a', 'b'], ['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']]);
  });

  it('shows what was there before until its turn comes', () => {
    expect(frames(['a', 'b', 'c'], ['A', 'B', 'C'], 2)).toEqual([['A', 'B', 'c'], ['A', 'B', 'C']]);
  });

  it('does not count what is the same', () => {
    expect(frames(['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'D'], 1)).toEqual([['a', 'b', 'c', 'D']]);
  });

  it('shows no row that is not wanted any more, not even for a frame', () => {
    expect(towards(all(['a', 'b', 'c']), ['x']).shown).toEqual(['a']);
    expect(towards(all(['a', 'b', 'c']), []).shown).toEqual([]);
  });

  it('goes on to what is wanted last, from what is shown', () => {
    const half = further(towards(nothing<string>(), ['a', 'b', 'c', 'd']), 2);
    let now = towards(half, ['a', 'B', 'C']);
    expect((now = further(now, 1)).shown).toEqual(['a', 'b', 'C']);
    expect((now = further(now, 1)).shown).toEqual(['a', 'B', 'C']);
    expect(isDone(now)).toBe(true);
  });

  it('gives each row its turn, however often something else is wanted', () => {
    let now = all([0, 0, 0, 0]);
    for (let round = 1; round <= 4; round += 1) now = further(towards(now, [round, round, round, round]), 1);
    expect(now.shown).toEqual([1, 2, 3, 4]);
  });

  it('has no holes, however lengths change on the way', () => {
    let now = nothing<number>();
    for (const length of [7, 3, 0, 9, 2, 12, 5, 5, 8]) {
      now = further(towards(now, Array.from({ length }, (_, place) => place)), 2);
      expect(now.shown).toEqual(Array.from({ length: now.shown.length }, (_, place) => place));
      expect(now.at).toBeLessThanOrEqual(now.shown.length);
    }
    while (!isDone(now)) now = further(now, 2);
    expect(now.shown).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('leaves rows as they are of which nothing has changed that is seen', () => {
    const before = [{ name: 'a', count: 1 }, { name: 'b', count: 1 }];
    const now = further(towards(all(before), [{ name: 'a', count: 1 }, { name: 'b', count: 2 }], (one, other) => one.name === other.name && one.count === other.count), 1);
    expect(now.shown[0]).toBe(before[0]);
    expect(now.shown[1]).toEqual({ name: 'b', count: 2 });
    expect(isDone(now)).toBe(true);
  });

  it('takes rows that are undefined for rows', () => {
    expect(frames<undefined>([], [undefined, undefined], 1)).toEqual([[undefined], [undefined, undefined]]);
  });

  it('is done with nothing to show', () => {
    expect(isDone(towards(nothing(), []))).toBe(true);
  });
});
