import { count } from '../format';

/** `jobs 0-24/319`: 319. Beyond 10,000 the API only says that there are more, as one more than that. */
export function totalOf(contentRange: string | null): number {
  const found = /\/(\d+)$/.exec(contentRange ?? '');
  if (!found) throw new Error(`the answer to a list has no Content-Range but ${JSON.stringify(contentRange)}: a proxy must let it through`);
  return Number(found[1]);
}

export const COUNTED_MAX = 10_000;

/** What is shown of how many. Of what is more than the API counts it says so, and no number. */
export function rangeOf({ from, to, count: total }: { from: number; to: number; count: number }): string {
  return `${count(from)}–${count(to)} of ${total > COUNTED_MAX ? `more than ${count(COUNTED_MAX)}` : count(total)}`;
}
