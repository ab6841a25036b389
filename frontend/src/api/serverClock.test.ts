import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const dateOf = (ms: number): string => new Date(ms).toUTCString();

describe('the estimated server time', () => {
  beforeEach(() => {
    vi.resetModules();
    vi.useFakeTimers({ now: NOON });
  });
  afterEach(() => vi.useRealTimers());

  it('equals the browser time if the difference of the clocks is below the tolerance', async () => {
    const { syncServerClock, serverNow } = await import('./serverClock');
    for (const offsetMs of [-1_900, 0, 1_400]) syncServerClock(dateOf(NOON + offsetMs), NOON);
    expect(serverNow()).toBe(NOON);
    syncServerClock(null, NOON);
    syncServerClock('soon', NOON);
    expect(serverNow()).toBe(NOON);
  });

  it('follows the server clock if the browser clock is wrong, but ignores a change of the offset by one second', async () => {
    const { syncServerClock, serverNow } = await import('./serverClock');
    syncServerClock(dateOf(NOON + 300_000), NOON);
    expect(serverNow()).toBe(NOON + 300_500);
    syncServerClock(dateOf(NOON + 301_000), NOON);
    expect(serverNow()).toBe(NOON + 300_500);
    syncServerClock(dateOf(NOON - 7_200_000), NOON);
    expect(serverNow()).toBe(NOON - 7_199_500);
    syncServerClock(dateOf(NOON), NOON);
    expect(serverNow()).toBe(NOON);
  });
});
