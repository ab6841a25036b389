import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { unwrap, api } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';

/**
 * Query the details of a checkpoint, or nothing if `of` is null. The details are large, so they are fetched only when the state of the checkpoint
 * changes. While the state stays the same, the stream reports the progress of the checkpoint.
 */
export function useCheckpointDetails(of: Pick<Schemas['CheckpointRead'], 'id' | 'state'> | null): UseQueryResult<Schemas['CheckpointDetailRead']> {
  const job = useJob();
  return useQuery({
    queryKey: ['job', job.id, 'checkpoint', of?.id, of?.state],
    enabled: of !== null,
    staleTime: Infinity,
    structuralSharing: false,
    // Keep the previous details until the new details are loaded.
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: of!.id } }, signal })),
  });
}

/** The number of completed checkpoints that statistics and charts cover. */
const LAST = 100;

/**
 * Query the series of the last completed checkpoints. If `chain` is given, the result also contains series for the subtasks of this chain. A large
 * job has hundreds of chains, so a response of the API contains the series for the subtasks of at most one chain.
 */
export function useCheckpointSeries(chain: number | null = null): UseQueryResult<Schemas['CheckpointSeriesRead']> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'checkpoints', 'series', chain],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/api/v1/jobs/{job_id}/checkpoints/series', {
        params: { path: { job_id: id }, query: { last: LAST, ...(chain === null ? { phases: false } : { chain }) } }, signal,
      })),
  });
}

export function useCheckpointSummary(): UseQueryResult<Schemas['CheckpointOverviewRead']> {
  const { id, run } = useJob();
  return useQuery({
    // No checkpoint event reports a restore, so refetch the summary whenever a run starts.
    queryKey: ['job', id, 'checkpoints', 'summary', run?.running_at ?? null],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/jobs/{job_id}/checkpoints/summary', { params: { path: { job_id: id }, query: { last: LAST } }, signal })),
  });
}
