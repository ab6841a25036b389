import { renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';

const NOON = Date.parse('2026-11-22T12:00:00Z');

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers({ now: NOON });
});
afterEach(() => vi.useRealTimers());

it('the time follows every change of the server clock, forwards and backwards', async () => {
  const { useNow } = await import('./useNow');
  const { syncServerClock, serverNow } = await import('../api/serverClock');
  const setServerClock = (ms: number): void => syncServerClock(new Date(ms).toUTCString(), NOON);
  onTestFinished(() => setServerClock(NOON));
  for (const aheadMs of [-300_000, 300_000, -300_000]) {
    setServerClock(NOON + aheadMs);
    const { result, unmount } = renderHook(() => useNow());
    expect(Math.abs(serverNow() - result.current)).toBeLessThan(1_000);
    unmount();
  }
});
