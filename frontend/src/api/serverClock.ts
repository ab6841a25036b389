/**
 * The server's clock. Ages are computed against it: a browser whose clock is off by minutes would show wrong ages and query metrics of the future.
 */

/** The Date header has whole seconds and the response takes time, so smaller offsets count as none. */
const TOLERANCE_MS = 2_000;
const HALF_A_SECOND_MS = 500;

let offsetMs = 0;

/** Update the offset from the Date header of a response that has just arrived. */
export function syncServerClock(date: string | null, localMs: number): void {
  const serverMs = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs + HALF_A_SECOND_MS - localMs;
  // One slow response must not make all ages on the page jump.
  if (Math.abs(difference - offsetMs) > TOLERANCE_MS) offsetMs = Math.abs(difference) > TOLERANCE_MS ? difference : 0;
}

/** The server's time in milliseconds since 1970, as far as its offset is known. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
