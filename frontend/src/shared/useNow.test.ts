import { renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const NOON = Date.parse('2026-11-22T12:00:00Z');

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers({ now: NOON });
});
afterEach(() => vi.useRealTimers());

it('is the clock of the server from the first time it is read, though the page was loaded before that was heard of', async () => {
  const { useNow } = await import('./useNow');
  const { heardDate, serverNow } = await import('../api/serverClock');
  heardDate(new Date(NOON - 300_000).toUTCString(), NOON);
  const { result } = renderHook(() => useNow());
  expect(Math.abs(serverNow() - result.current)).toBeLessThan(1_000);
});
