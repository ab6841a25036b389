/**
 * The server's clock. The page computes ages with the server's clock, because the browser's clock can be minutes ahead or behind. With the browser's
 * clock, ages could be wrong, and the page could query metrics of the future.
 */

/** The Date header has whole seconds and the response takes time, so an offset below this tolerance is treated as 0. */
const TOLERANCE_MS = 2_000;
const HALF_A_SECOND_MS = 500;

let offsetMs = 0;

/** Update the clock offset from the Date header of a response that has just arrived. */
export function syncServerClock(date: string | null, localMs: number): void {
  const serverMs = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs + HALF_A_SECOND_MS - localMs;
  // Ignore small changes of the clock offset, because a single slow response would otherwise change all ages on the page.
  if (Math.abs(difference - offsetMs) > TOLERANCE_MS) offsetMs = Math.abs(difference) > TOLERANCE_MS ? difference : 0;
}

/** Return the server's time in milliseconds since 1970. Until the clock offset is known, return the browser's time. */
export function serverNow(): number {
  return Date.now() + offsetMs;
}
