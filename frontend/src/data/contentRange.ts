import { count } from '../format';

/** Parse the total of a Content-Range: 319 in `jobs 0-24/319`. The API counts up to 10,000; 10,001 means more. */
export function parseTotal(contentRange: string | null): number {
  const match = /\/(\d+)$/.exec(contentRange ?? '');
  if (!match) throw new Error(`A list response has the Content-Range ${JSON.stringify(contentRange)}. A proxy must pass this header through.`);
  return Number(match[1]);
}

export const COUNTED_MAX = 10_000;

/** The rows shown and the total: `1–25 of 319`, `1–25 of more than 10,000`. */
export function formatRange({ from, to, count: total }: { from: number; to: number; count: number }): string {
  return `${count(from)}–${count(to)} of ${total > COUNTED_MAX ? `more than ${count(COUNTED_MAX)}` : count(total)}`;
}
