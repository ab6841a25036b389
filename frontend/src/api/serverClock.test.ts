import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const dateOf = (ms: number): string => new Date(ms).toUTCString();

describe('the estimated server time', () => {
  beforeEach(() => {
    vi.resetModules();
    vi.useFakeTimers({ now: NOON });
  });
  afterEach(() => vi.useRealTimers());

  it('the server time equals the browser time if the clocks differ by less than the tolerance', async () => {
    const { syncServerClock, serverNow } = await import('./serverClock');
    for (const offsetMs of [-1_900, 0, 1_400]) syncServerClock(dateOf(NOON + offsetMs), NOON);
    expect(serverNow()).toBe(NOON);
    syncServerClock(null, NOON);
    syncServerClock('soon', NOON);
    expect(serverNow()).toBe(NOON);
  });

  it('if the browser clock is wrong, the estimated time follows the server clock, but ignores a change of one second', async () => {
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
