/**
 * The clock of the server. Times that it tells are held against it: a browser whose clock is minutes off would take what is new for old, and ask
 * for metrics of a time that is not there yet.
 */

/** The header tells whole seconds, and an answer takes its time: less than this is no difference. */
const NO_DIFFERENCE_MS = 2_000;
const HALF_A_SECOND_MS = 500;

let aheadMs = 0;

/** `date`: of an answer that has just arrived. */
export function heardDate(date: string | null, localMs: number): void {
  const serverMs = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs + HALF_A_SECOND_MS - localMs;
  // A single slow answer is no reason for all ages on the page to jump.
  if (Math.abs(difference - aheadMs) > NO_DIFFERENCE_MS) aheadMs = Math.abs(difference) > NO_DIFFERENCE_MS ? difference : 0;
}

/** Milliseconds since 1970, as far as is known by the server's clock. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}
