/** Charts are drawn in turn, one in each frame: a page of them would stand still otherwise while all are drawn. */
export class Turns {
  readonly #waiting = new Map<object, () => void>();
  #frame: number | null = null;

  /** Whoever asks again before it was its turn keeps its place, and draws what it asked for last. */
  ask(who: object, draw: () => void): void {
    this.#waiting.set(who, draw);
    if (this.#frame === null) this.#frame = requestAnimationFrame(this.#next);
  }

  leave(who: object): void {
    this.#waiting.delete(who);
  }

  readonly #next = (): void => {
    const [first] = this.#waiting;
    this.#frame = null;
    if (first === undefined) return;
    const [who, draw] = first;
    this.#waiting.delete(who);
    if (this.#waiting.size > 0) this.#frame = requestAnimationFrame(this.#next);
    draw();
  };
}
