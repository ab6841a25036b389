import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { unwrap, api } from '../../../api/client';
import { serverNow } from '../../../api/serverClock';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';

type Metrics = Schemas['MetricsRead'];

/** Query the current metrics of all subtasks. `measured`: whether the job reports metrics (see `reportsMetrics`). */
export function useCurrentMetrics(measured: boolean): UseQueryResult<Metrics> {
  return useMetrics({ label: 'now', seconds: NOW_S, stepS: NOW_STEP_S, againMs: NOW_AGAIN_MS }, null, measured);
}

/** Query the metrics of the subtasks of one operator, or of all subtasks if `chain` is null. */
export function useMetrics({ label, seconds, stepS, againMs }: Range, chain: number | null, enabled = true): UseQueryResult<Metrics> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'metrics', label, chain],
    enabled,
    refetchInterval: againMs,
    placeholderData: keepPreviousData,
    // Do not compare new metrics with old metrics. Comparing metrics is slow for thousands of subtasks, and some metrics always differ.
    structuralSharing: false,
    queryFn: ({ signal }) => {
      const since = new Date(serverNow() - seconds * 1000).toISOString();
      return unwrap(api.GET('/api/v1/jobs/{job_id}/metrics', {
        params: { path: { job_id: id }, query: { since, step_s: stepS, ...(chain === null ? {} : { chain }) } }, signal,
      }));
    },
  });
}

export interface Range {
  label: string;
  seconds: number;
  stepS: number;
  againMs: number;
}

export const RANGES: readonly Range[] = [
  { label: '15 min', seconds: 900, stepS: 10, againMs: 5_000 },
  { label: '1 h', seconds: 3_600, stepS: 20, againMs: 20_000 },
  { label: '6 h', seconds: 21_600, stepS: 60, againMs: 60_000 },
  { label: '24 h', seconds: 86_400, stepS: 240, againMs: 60_000 },
];

const keyOf = ({ label }: Range): string => label.replace(' ', '');

/** Return the time range in the URL, such as `?range=24h`. If the URL names no known range, return the shortest range. */
export function parseRange(params: URLSearchParams): Range {
  return RANGES.find((range) => keyOf(range) === params.get('range')) ?? RANGES[0]!;
}

export function withRange(params: URLSearchParams, range: Range): URLSearchParams {
  const after = new URLSearchParams(params);
  after.set('range', keyOf(range));
  return after;
}

/** Samples up to this age count as current. Slots report metrics every few seconds. */
const NOW_S = 45;
const NOW_STEP_S = 10;
const NOW_AGAIN_MS = 5_000;
