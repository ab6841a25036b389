import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { serverNow } from '../../../api/serverClock';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';
import { NOW_AGAIN_MS, NOW_S, NOW_STEP_S, type Range } from './ranges';

type Metrics = Schemas['MetricsBody'];

/** What all subtasks do just now, of a job that does something: see `isMeasured`. */
export function useNowMetrics(measured: boolean): UseQueryResult<Metrics> {
  return useMetrics({ label: 'now', seconds: NOW_S, stepS: NOW_STEP_S, againMs: NOW_AGAIN_MS }, null, measured);
}

/** What the subtasks of one operator did: of a large job nobody could take in all of them. */
export function useMetrics({ label, seconds, stepS, againMs }: Range, chain: number | null, enabled = true): UseQueryResult<Metrics> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'metrics', label, chain],
    enabled,
    refetchInterval: againMs,
    placeholderData: keepPreviousData,
    // New numbers each time: to compare them with the old ones would only take time, of thousands of subtasks a lot.
    structuralSharing: false,
    queryFn: ({ signal }) => {
      const since = new Date(serverNow() - seconds * 1000).toISOString();
      return answered(api.GET('/api/v1/jobs/{job_id}/metrics', {
        params: { path: { job_id: id }, query: { since, step_s: stepS, ...(chain === null ? {} : { chain }) } }, signal,
      }));
    },
  });
}
