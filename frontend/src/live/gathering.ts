/** What arrives within one frame of the browser is told at once: who catches up with hundreds of messages draws the last of them, not each. */

/** A page that is hidden has no frames. */
export const HIDDEN_MS = 200;

export class Gathering<One> {
  #gathered: One[] = [];
  #end: (() => void) | null = null;

  constructor(private readonly tell: (all: One[]) => void) {}

  /** Nothing at all is told as well: it is a sign of life. */
  add(some: readonly One[]): void {
    this.#gathered.push(...some);
    this.#end ??= soon(() => this.flush());
  }

  /** Now: what comes next must not overtake it. */
  flush(): void {
    if (this.#end === null) return;
    this.#end();
    this.#end = null;
    const all = this.#gathered;
    this.#gathered = [];
    this.tell(all);
  }

  /** Nothing is told any more. */
  drop(): void {
    this.#end?.();
    this.#end = null;
    this.#gathered = [];
  }
}

/** Gives back what calls it off. */
function soon(call: () => void): () => void {
  const frame = requestAnimationFrame(call);
  const timer = setTimeout(call, HIDDEN_MS);
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
