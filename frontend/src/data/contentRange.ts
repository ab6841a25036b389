import { count } from '../format';

/**
 * Return the total from a Content-Range header, such as 319 from `jobs 0-24/319`. The API counts up to 10,000 rows. The total 10,001 means that
 * there are more than 10,000 rows.
 */
export function parseTotal(contentRange: string | null): number {
  const match = /\/(\d+)$/.exec(contentRange ?? '');
  if (!match) throw new Error(`A list response has an invalid Content-Range header: ${JSON.stringify(contentRange)}. Configure the proxy to pass this header through.`);
  return Number(match[1]);
}

/** The maximum number of rows in a response (ROWS_MAX in backend/weir_backend/kit/listing.py). */
export const ROWS_MAX = 500;

export const COUNTED_MAX = 10_000;

/** Return the numbers of the displayed rows and the total as text, such as `1–25 of 319` or `1–25 of more than 10,000`. */
export function formatRange({ from, to, count: total }: { from: number; to: number; count: number }): string {
  return `${count(from)}–${count(to)} of ${total > COUNTED_MAX ? `more than ${count(COUNTED_MAX)}` : count(total)}`;
}
