/** A seeded random number generator (mulberry32). */
export class Random {
  constructor(private seed: number) {}

  /** Return a random number from 0 to 1. */
  next(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  /** Return a random value. Most values are near `typical`, and a few are far above it. */
  skewed(typical: number): number {
    return typical * Math.exp(0.35 * (this.next() + this.next() + this.next() - 1.5) * 2);
  }
}
