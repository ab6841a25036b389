import { useSyncExternalStore } from 'react';

import { serverNow } from '../api/serverClock';

/** The interval of the page's clock. All relative times change at the same moment. On a hidden page, relative times do not change. */
const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let now = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.visibilityState === 'hidden') return;
  now = serverNow();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Return the server's time in milliseconds since 1970, updated every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => (timer === undefined ? (now = Math.floor(serverNow() / TICK_MS) * TICK_MS) : now));
}
