/** The wavefront that is shown, outside of React: what draws a part of it is drawn anew when that part has changed, in frames of the browser. */
import { createContext, use, useEffect, useLayoutEffect, useMemo, useState, useSyncExternalStore } from 'react';

import { serverNow } from '../../../api/serverClock';
import { useJobStore } from '../../../live/JobLiveProvider';
import { Store } from '../../../live/store';
import { nextLive, noWave, type LiveNews, type LiveWave } from './liveWave';
import { beginReplay, nextReplay, type Replay } from './replay';
import type { PlayerNews } from './player';
import type { Script } from './script';
import type { Topology } from './topology';
import type { Wave } from './wavefront';

export type LiveStore = Store<LiveWave, LiveNews>;
export type ReplayStore = Store<Replay, PlayerNews>;
/** What both stores have. */
interface Source {
  get: () => { wave: Wave | null };
  subscribe: (listener: () => void) => () => void;
}

/** Whichever of them is shown, as one: who follows it is told when it is another one, and not made anew for that. */
export class Shown implements Source {
  readonly #listeners = new Set<() => void>();
  #leave: () => void;

  constructor(private source: Source) {
    this.#leave = source.subscribe(this.#tell);
  }

  readonly #tell = (): void => {
    for (const listener of this.#listeners) listener();
  };

  show(source: Source): void {
    if (source === this.source) return;
    this.#leave();
    this.source = source;
    this.#leave = source.subscribe(this.#tell);
    this.#tell();
  }

  get = (): { wave: Wave | null } => this.source.get();

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const WaveContext = createContext<Shown | null>(null);

/** Of the replay if there is one, else of what is live. */
export function useShown(live: LiveStore, replay: ReplayStore | null): Shown {
  const [shown] = useState(() => new Shown(replay ?? live));
  useLayoutEffect(() => shown.show(replay ?? live), [shown, live, replay]);
  return shown;
}

/** A part of the wavefront. `select` gives a value that is equal as long as nothing of the part has changed: a word, a number. */
export function useWave<Part extends string | number | boolean | Wave | null>(select: (wave: Wave | null) => Part): Part {
  const shown = use(WaveContext);
  if (shown === null) throw new Error('this is shown inside of the graph only');
  return useSyncExternalStore(shown.subscribe, () => select(shown.get().wave));
}

/**
 * Has something painted at each change of the wavefront, past React: there are hundreds of such parts, and ten changes a second. `begin`, always
 * the same function for the same elements, gives what paints; that minds what it has painted last.
 */
export function usePainted(begin: () => (wave: Wave | null) => void): void {
  const shown = use(WaveContext);
  if (shown === null) throw new Error('this is shown inside of the graph only');
  useLayoutEffect(() => {
    const paint = begin();
    let before = shown.get().wave;
    paint(before);
    return shown.subscribe(() => {
      const { wave } = shown.get();
      // Of most news it is only the time that is new.
      const same = wave?.steps === before?.steps && wave?.end === before?.end;
      before = wave;
      if (!same) paint(wave);
    });
  }, [begin, shown]);
}

/** How often the time is told that a checkpoint has taken so far. */
const CLOCK_MS = 100;

export function useLiveWave(topology: Topology): LiveStore {
  const jobStore = useJobStore();
  const store = useMemo(() => new Store<LiveWave, LiveNews>(noWave(topology), nextLive), [topology]);
  useEffect(() => {
    let frame = 0;
    const draw = (): void => {
      frame = 0;
      store.tell({ type: 'told', job: jobStore.get(), nowMs: serverNow() });
    };
    // However many messages come in one frame, they are drawn once.
    const ask = (): void => void (frame ||= requestAnimationFrame(draw));
    ask();
    const end = jobStore.subscribe(ask);
    const clock = setInterval(() => store.tell({ type: 'clock', nowMs: serverNow() }), CLOCK_MS);
    return () => {
      end();
      clearInterval(clock);
      cancelAnimationFrame(frame);
    };
  }, [jobStore, store]);
  return store;
}

/** Null while nothing is replayed. */
export function useReplay(script: Script | null): ReplayStore | null {
  const store = useMemo(() => (script === null ? null : new Store<Replay, PlayerNews>(beginReplay(script), nextReplay)), [script]);
  useEffect(() => {
    if (store === null) return;
    let last = performance.now();
    let frame = 0;
    const draw = (now: number): void => {
      store.tell({ type: 'frame', passedMs: now - last });
      last = now;
      frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, [store]);
  return store;
}
