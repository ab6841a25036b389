import { useEffect, useState } from 'react';

import { further, isDone, nothing, towards } from './gradual';

/**
 * As much of `rows` as may be shown by now: `atOnce` rows more in each frame, the first ones at once. `rows` is the same array for the same
 * content (useMemo); a row is drawn by a component that is memoised. `same`, always the same function: nothing that is seen of a row has changed.
 */
export function useGradual<Row>(rows: readonly Row[], atOnce: number, same?: (one: Row, other: Row) => boolean): readonly Row[] {
  const [kept, setKept] = useState(() => further(towards(nothing<Row>(), rows, same), atOnce));
  let now = kept;
  if (kept.asked !== rows) {
    now = further(towards(kept, rows, same), atOnce);
    setKept(now);
  }
  useEffect(() => {
    if (isDone(now)) return;
    const frame = requestAnimationFrame(() => setKept((before) => further(before, atOnce)));
    return () => cancelAnimationFrame(frame);
  }, [now, atOnce]);
  return now.shown;
}
