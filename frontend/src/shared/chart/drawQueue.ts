/** Draws one chart per frame, so that a page with many charts stays responsive. */
export class DrawQueue {
  readonly #pending = new Map<object, () => void>();
  #frame: number | null = null;

  /** Queue a drawing. If a request with this key is pending, keep its position and replace its drawing. */
  request(key: object, draw: () => void): void {
    this.#pending.set(key, draw);
    if (this.#frame === null) this.#frame = requestAnimationFrame(this.#next);
  }

  cancel(key: object): void {
    this.#pending.delete(key);
  }

  readonly #next = (): void => {
    const [first] = this.#pending;
    this.#frame = null;
    if (first === undefined) return;
    const [key, draw] = first;
    this.#pending.delete(key);
    if (this.#pending.size > 0) this.#frame = requestAnimationFrame(this.#next);
    draw();
  };
}
