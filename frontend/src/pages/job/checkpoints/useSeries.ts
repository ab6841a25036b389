import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';

/** Summaries and charts are over as many completed checkpoints. */
export const LAST = 100;

/** How the last completed checkpoints went, in all; with `chain` also by the subtasks of that one. Not by each: a large job has hundreds. */
export function useSeries(chain: number | null = null): UseQueryResult<Schemas['CheckpointSeriesBody']> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'checkpoints', 'series', chain],
    queryFn: ({ signal }) =>
      answered(api.GET('/api/v1/jobs/{job_id}/checkpoints/series', {
        params: { path: { job_id: id }, query: { last: LAST, ...(chain === null ? { parts: false } : { chain }) } }, signal,
      })),
  });
}

export function useSummary(): UseQueryResult<Schemas['JobSummaryBody']> {
  const { id, run } = useJob();
  return useQuery({
    // A run that comes up has restored something, which no event of a checkpoint tells.
    queryKey: ['job', id, 'checkpoints', 'summary', run?.running_at ?? null],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/jobs/{job_id}/checkpoints/summary', { params: { path: { job_id: id }, query: { last: LAST } }, signal })),
  });
}
