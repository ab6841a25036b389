import { useSyncExternalStore } from 'react';

/** State outside of React, so that ten messages a second render only what has changed. */
export class Store<State, News> {
  readonly #listeners = new Set<() => void>();

  constructor(
    private state: State,
    private readonly next: (state: State, news: News) => State,
  ) {}

  get = (): State => this.state;

  tell = (news: News): void => {
    const after = this.next(this.state, news);
    if (after === this.state) return;
    this.state = after;
    for (const listener of this.#listeners) listener();
  };

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** A part of the state. `select` gives the same value for the same state: no new object or array each time. */
export function useStore<State, News, Part>(store: Store<State, News>, select: (state: State) => Part): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
