/** Finds a time in a driver's log by binary search, without reading the whole log. Pure, except for the reader. */
import { openWindow, type LogChunk } from './logWindow';

export type ReadChunk = (offset: number) => Promise<LogChunk>;

/** The maximum distance between the result and the searched line, unless the line before the searched line is longer. */
export const ACCURACY_BYTES = 32 * 1024;
/** The maximum number of chunks that are read to find a line with a time. */
const UNTIMED_CHUNKS_MAX = 4;

/** Search for the first line whose time is `ms` or later. Return an offset shortly before this line. */
export async function findTime(read: ReadChunk, size: number, ms: number): Promise<number> {
  let [before, after] = [0, size];
  while (after - before > ACCURACY_BYTES) {
    const middle = Math.floor((before + after) / 2);
    const found = await timeAt(read, middle, after);
    if (found !== null && found < ms) before = middle;
    else after = middle;
  }
  return before;
}

/** Search for the first line with a time, from `offset` to `end`. Return this time, or null if no line has a time. */
async function timeAt(read: ReadChunk, offset: number, end: number): Promise<number | null> {
  let from = offset;
  for (let chunks = 0; from < end && chunks < UNTIMED_CHUNKS_MAX; chunks += 1) {
    const chunk = await read(from);
    const timed = openWindow(chunk).lines.find(({ atMs }) => atMs !== null);
    if (timed) return timed.atMs;
    if (chunk.end <= from) return null;
    from = chunk.end;
  }
  return null;
}
