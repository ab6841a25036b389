import type { Schemas } from '../api/types';

export function percentile(ordered: readonly number[], share: number): number {
  const at = share * (ordered.length - 1);
  const low = ordered[Math.floor(at)]!;
  return low + (ordered[Math.ceil(at)]! - low) * (at % 1);
}

/** As weir_backend.kit.summaries: null of nothing. */
export function summaryOf(values: readonly number[]): Schemas['SummaryBody'] | null {
  if (values.length === 0) return null;
  const ordered = [...values].sort((a, b) => a - b);
  const [p50, p90, p95, p99, p999] = [0.5, 0.9, 0.95, 0.99, 0.999].map((share) => percentile(ordered, share)) as [number, number, number, number, number];
  return { min: ordered[0]!, max: ordered.at(-1)!, avg: values.reduce((a, b) => a + b, 0) / values.length, p50, p90, p95, p99, p999 };
}
