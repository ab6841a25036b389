/** Pure functions for summary statistics, which the backend computes in the same way. */
import type { Schemas } from '../api/types';

export type Summary = Schemas['StatsSummaryRead'];

/** Return a percentile of a sorted, non-empty list of values, with linear interpolation. */
export function percentile(ordered: readonly number[], share: number): number {
  const at = share * (ordered.length - 1);
  const low = ordered[Math.floor(at)]!;
  return low + (ordered[Math.ceil(at)]! - low) * (at % 1);
}

/** Return the summary of the values, or null if there are no values. */
export function summarize(values: readonly number[]): Summary | null {
  if (values.length === 0) return null;
  const ordered = [...values].sort((a, b) => a - b);
  const [p50, p90, p95, p99, p999] = [0.5, 0.9, 0.95, 0.99, 0.999].map((share) => percentile(ordered, share)) as [number, number, number, number, number];
  return { min: ordered[0]!, max: ordered.at(-1)!, avg: mean(values), p50, p90, p95, p99, p999 };
}

/**
 * Return the minimum duration of a subtask that counts as a straggler: the 95th percentile of the durations, but at least 1.5 times their median.
 * Return null if there are fewer than two durations.
 */
export function stragglerThreshold(durations: readonly number[]): number | null {
  if (durations.length < 2) return null;
  const ordered = [...durations].sort((a, b) => a - b);
  return Math.max(percentile(ordered, 0.95), 1.5 * percentile(ordered, 0.5));
}

/** Return the mean of a non-empty list of values. */
export const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Return the sum of the known values, or null if no value is known. */
export function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

/** Return the largest known value, or null if no value is known. */
export function largest(values: Iterable<number | null | undefined>): number | null {
  let found: number | null = null;
  for (const value of values) if (value !== null && value !== undefined && (found === null || value > found)) found = value;
  return found;
}
