import { useSyncExternalStore } from 'react';

import { serverNow } from '../api/serverClock';

/** One clock for the whole page: what says `5 s ago` in a hundred rows ticks at once, and not at all while nobody looks. */
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

/** Milliseconds since 1970, to the second, by the clock of the server: what it is held against was told by that. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => (timer === undefined ? (now = Math.floor(serverNow() / TICK_MS) * TICK_MS) : now));
}
