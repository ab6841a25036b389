/**
 * Stores the displayed wavefront outside React. A component is rendered only if its part of the wavefront has changed, at most once per animation
 * frame.
 */
import { createContext, use, useEffect, useLayoutEffect, useMemo, useState, useSyncExternalStore } from 'react';

import { serverNow } from '../../../../api/serverClock';
import { useJobStore } from '../../../../live/JobLiveProvider';
import { Store } from '../../../../live/store';
import { initialReplay, reduceReplay, type PlaybackAction, type Replay } from '../replay/playback';
import type { Recording } from '../replay/recording';
import { initialLiveWavefront, reduceLiveWavefront, type LiveWavefront, type LiveWavefrontAction } from './liveWavefront';
import type { Topology } from './topology';
import type { Wavefront } from './wavefront';

export type LiveStore = Store<LiveWavefront, LiveWavefrontAction>;
export type ReplayStore = Store<Replay, PlaybackAction>;
/** The properties that the live store and the replay store have in common. */
interface Source {
  get: () => { wave: Wavefront | null };
  subscribe: (listener: () => void) => () => void;
}

/** The current store, which is the live store or the replay store. Subscribers stay subscribed when the current store changes. */
export class WavefrontSource implements Source {
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

  get = (): { wave: Wavefront | null } => this.source.get();

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const WavefrontContext = createContext<WavefrontSource | null>(null);

/** Return the wavefront of the replayed checkpoint, or of the live checkpoint if nothing is replayed. */
export function useWavefrontSource(live: LiveStore, replay: ReplayStore | null): WavefrontSource {
  const [source] = useState(() => new WavefrontSource(replay ?? live));
  useLayoutEffect(() => source.show(replay ?? live), [source, live, replay]);
  return source;
}

/** Return a part of the wavefront. `select` must return an equal value (===) until the selected part of the wavefront changes. */
export function useWavefront<Part extends string | number | boolean | Wavefront | null>(select: (wave: Wavefront | null) => Part): Part {
  const source = use(WavefrontContext);
  if (source === null) throw new Error('useWavefront needs a WavefrontContext.');
  return useSyncExternalStore(source.subscribe, () => select(source.get().wave));
}

/**
 * Call a painter outside React at every change of the wavefront, because hundreds of elements change ten times a second. `createPainter` must be the
 * same function until the painted elements change. `createPainter` returns a painter, which remembers its last output.
 */
export function useWavefrontPainter(createPainter: () => (wave: Wavefront | null) => void): void {
  const source = use(WavefrontContext);
  if (source === null) throw new Error('useWavefrontPainter needs a WavefrontContext.');
  useLayoutEffect(() => {
    const paint = createPainter();
    let previous = source.get().wave;
    paint(previous);
    return source.subscribe(() => {
      const { wave } = source.get();
      // Most updates change only the time, which no painter uses.
      const same = wave?.steps === previous?.steps && wave?.end === previous?.end;
      previous = wave;
      if (!same) paint(wave);
    });
  }, [createPainter, source]);
}

/** The interval at which the elapsed time of a checkpoint is updated. */
const CLOCK_MS = 100;

export function useLiveWavefront(topology: Topology): LiveStore {
  const jobStore = useJobStore();
  const store = useMemo(() => new Store<LiveWavefront, LiveWavefrontAction>(initialLiveWavefront(topology), reduceLiveWavefront), [topology]);
  useEffect(() => {
    let frame = 0;
    const update = (): void => {
      frame = 0;
      store.dispatch({ type: 'stream', job: jobStore.get(), nowMs: serverNow() });
    };
    // Update only once per animation frame, even if several messages arrive.
    const ask = (): void => void (frame ||= requestAnimationFrame(update));
    ask();
    const unsubscribe = jobStore.subscribe(ask);
    const clock = setInterval(() => store.dispatch({ type: 'clock', nowMs: serverNow() }), CLOCK_MS);
    return () => {
      unsubscribe();
      clearInterval(clock);
      cancelAnimationFrame(frame);
    };
  }, [jobStore, store]);
  return store;
}

/** Return the store of the replay, or null if nothing is replayed. */
export function useReplay(script: Recording | null): ReplayStore | null {
  const store = useMemo(() => (script === null ? null : new Store<Replay, PlaybackAction>(initialReplay(script), reduceReplay)), [script]);
  useEffect(() => {
    if (store === null) return;
    let last = performance.now();
    let frame = 0;
    const update = (now: number): void => {
      store.dispatch({ type: 'frame', passedMs: now - last });
      last = now;
      frame = requestAnimationFrame(update);
    };
    frame = requestAnimationFrame(update);
    return () => cancelAnimationFrame(frame);
  }, [store]);
  return store;
}
