import { useEffect, useState } from 'react';

/**
 * A long list that is updated over several frames, so that the page stays responsive while hundreds of rows are rendered. All functions in this file
 * are pure, except `useIncrementalList`, which connects them to React.
 */
export interface IncrementalList<Row> {
  /**
   * `source` contains the rows that the caller set last. `target` contains the same rows, but keeps the object of each displayed row that has not
   * changed.
   */
  source: readonly Row[];
  target: readonly Row[];
  /**
   * The rows to render. During an update, this list contains both updated rows and old rows. This list is never longer than `target`, and has no
   * gaps.
   */
  shown: readonly Row[];
  /** `position` is the index of the next row to update, and `remaining` is the number of rows that are left to check. */
  position: number;
  remaining: number;
}

export function emptyList<Row>(): IncrementalList<Row> {
  return { source: [], target: [], shown: [], position: 0, remaining: 0 };
}

/**
 * Set new rows. The update continues at the current position and wraps around. Each row is therefore updated eventually, even if the rows change
 * often. `same` returns whether two rows look the same.
 */
export function setTarget<Row>(before: IncrementalList<Row>, asked: readonly Row[], same: (one: Row, other: Row) => boolean = Object.is): IncrementalList<Row> {
  const wanted = asked.map((row, place) => (place < before.shown.length && same(before.shown[place]!, row) ? before.shown[place]! : row));
  const shown = before.shown.slice(0, wanted.length);
  return { source: asked, target: wanted, shown, position: before.position < wanted.length ? before.position : 0, remaining: wanted.length };
}

/** Update up to `atOnce` more rows. Unchanged rows do not count as updates. */
export function advance<Row>({ source, target, shown: before, position: from, remaining: rest }: IncrementalList<Row>, atOnce: number): IncrementalList<Row> {
  const shown = before.slice();
  let [at, left] = [from, rest];
  for (let turns = atOnce; left > 0; left -= 1) {
    const known = at < shown.length && shown[at] === target[at];
    if (!known && turns === 0) break;
    if (!known) {
      turns -= 1;
      shown[at] = target[at]!;
    }
    at = (at + 1) % target.length;
  }
  return { source, target, shown: left === 0 ? target : shown, position: at, remaining: left };
}

export const isComplete = ({ remaining }: IncrementalList<unknown>): boolean => remaining === 0;

/**
 * Return the rows to render now. The first `atOnce` rows are rendered immediately, and `atOnce` more rows in each frame. `rows` must be memoised,
 * the components of rows must be memoised, and `same` must be a stable function.
 */
export function useIncrementalList<Row>(rows: readonly Row[], atOnce: number, same?: (one: Row, other: Row) => boolean): readonly Row[] {
  const [kept, setKept] = useState(() => advance(setTarget(emptyList<Row>(), rows, same), atOnce));
  let now = kept;
  if (kept.source !== rows) {
    now = advance(setTarget(kept, rows, same), atOnce);
    setKept(now);
  }
  useEffect(() => {
    if (isComplete(now)) return;
    const frame = requestAnimationFrame(() => setKept((before) => advance(before, atOnce)));
    return () => cancelAnimationFrame(frame);
  }, [now, atOnce]);
  return now.shown;
}
