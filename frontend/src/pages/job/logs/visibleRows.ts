/** Selects the lines to render. Pure. */
import type { LogLine } from './logLine';

/** The maximum number of rendered lines. */
export const ROWS_MAX = 200;
/** The number of rendered lines above the visible part, at most. */
const ROWS_ABOVE = 80;
/** The first rendered line changes only in steps, so that scrolling seldom changes the rendered lines. */
const STEP = 20;

/**
 * Return the index of the first rendered line. `top`: the offset of the line at the top of the visible part. Null means that the end of the log is
 * visible.
 */
export function firstRow(lines: readonly LogLine[], top: number | null): number {
  const last = Math.max(0, lines.length - ROWS_MAX);
  if (top === null) return last;
  const above = Math.max(0, indexAt(lines, top) - ROWS_ABOVE);
  return Math.min(last, above - (above % STEP));
}

/** Return the index of the first line at or after an offset. */
function indexAt(lines: readonly LogLine[], offset: number): number {
  let [from, to] = [0, lines.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (lines[middle]!.offset < offset) from = middle + 1;
    else to = middle;
  }
  return from;
}
