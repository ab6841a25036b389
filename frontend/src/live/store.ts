import { useSyncExternalStore } from 'react';

/** State outside of React. There can be ten updates a second, and each update renders only the components whose part of the state has changed. */
export class Store<State, Update> {
  readonly #listeners = new Set<() => void>();

  constructor(
    private state: State,
    private readonly reduce: (state: State, update: Update) => State,
  ) {}

  get = (): State => this.state;

  dispatch = (update: Update): void => {
    const next = this.reduce(this.state, update);
    if (next === this.state) return;
    this.state = next;
    for (const listener of this.#listeners) listener();
  };

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** Return a part of the state. For the same state, `select` must return the same value, and not a new object. */
export function useStore<State, Update, Part>(store: Store<State, Update>, select: (state: State) => Part): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
