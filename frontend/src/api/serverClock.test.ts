import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const NOON = Date.parse('2026-11-22T12:00:00Z');
const dateOf = (ms: number): string => new Date(ms).toUTCString();

describe('the clock of the server', () => {
  beforeEach(() => {
    vi.resetModules();
    vi.useFakeTimers({ now: NOON });
  });
  afterEach(() => vi.useRealTimers());

  it('is that of the browser as long as they agree, whatever seconds are rounded to', async () => {
    const { heardDate, serverNow } = await import('./serverClock');
    for (const off of [-1_900, 0, 1_400]) heardDate(dateOf(NOON + off), NOON);
    expect(serverNow()).toBe(NOON);
    heardDate(null, NOON);
    heardDate('soon', NOON);
    expect(serverNow()).toBe(NOON);
  });

  it('is followed where the one of the browser is off, and not by jumps of a second', async () => {
    const { heardDate, serverNow } = await import('./serverClock');
    heardDate(dateOf(NOON + 300_000), NOON);
    expect(serverNow()).toBe(NOON + 300_500);
    heardDate(dateOf(NOON + 301_000), NOON);
    expect(serverNow()).toBe(NOON + 300_500);
    heardDate(dateOf(NOON - 7_200_000), NOON);
    expect(serverNow()).toBe(NOON - 7_199_500);
    heardDate(dateOf(NOON), NOON);
    expect(serverNow()).toBe(NOON);
  });
});
