/** Delivers the messages of one browser frame together, so that hundreds of missed messages cause only one rendering. */

/** The longest time that messages wait on a hidden page, where the browser draws no frames. */
export const HIDDEN_MS = 200;

export class FrameBatcher<Item> {
  #batch: Item[] = [];
  #cancel: (() => void) | null = null;

  constructor(private readonly deliver: (batch: Item[]) => void) {}

  /** Add items. An empty list is delivered as well, because it represents a keep-alive. */
  add(items: readonly Item[]): void {
    this.#batch.push(...items);
    this.#cancel ??= onNextFrame(() => this.flush());
  }

  /** Deliver the current batch now, for example before the state of the connection changes. */
  flush(): void {
    if (this.#cancel === null) return;
    this.#cancel();
    this.#cancel = null;
    const batch = this.#batch;
    this.#batch = [];
    this.deliver(batch);
  }

  /** Discard the current batch without delivering it. */
  drop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#batch = [];
  }
}

/** Call the function in the next frame, but at the latest after HIDDEN_MS. Returns a function that cancels the call. */
function onNextFrame(call: () => void): () => void {
  const frame = requestAnimationFrame(call);
  const timer = setTimeout(call, HIDDEN_MS);
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
