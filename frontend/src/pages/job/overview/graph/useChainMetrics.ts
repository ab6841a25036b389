/** Queries the metrics of subtasks and the state sizes of the last checkpoint every few seconds. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';

import { unwrap, api } from '../../../../api/client';
import { serverNow } from '../../../../api/serverClock';
import type { Schemas } from '../../../../api/types';
import { useJob } from '../../useJob';
import { reportsMetrics } from './chainMetrics';

const METRICS_EVERY_MS = 5_000;
const SIZES_EVERY_MS = 15_000;
/** The length of a time step. The query asks for few time steps, because a job can have thousands of subtasks and only the last step is shown. */
const STEP_S = 10;
const WINDOW_MS = 40_000;
/** Do not check whether new metrics equal the old metrics. Comparing metrics is slow for thousands of subtasks, and some metrics always differ. */
const STRUCTURAL_SHARING = false;

type Metrics = Pick<Schemas['MetricsRead'], 'subtasks' | 'bottleneck'>;

/** Query the metrics of all subtasks over the last seconds, and the bottleneck. */
export function useSubtaskMetrics(): Metrics {
  const { id, state } = useJob();
  const running = reportsMetrics(state);
  const { data } = useQuery({
    queryKey: ['job', id, 'metrics', 'newest'],
    enabled: running,
    refetchInterval: METRICS_EVERY_MS,
    structuralSharing: STRUCTURAL_SHARING,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/api/v1/jobs/{job_id}/metrics', {
          params: { path: { job_id: id }, query: { since: new Date(serverNow() - WINDOW_MS).toISOString(), step_s: STEP_S } },
          signal,
        }),
      ),
  });
  return running && data ? data : NO_METRICS;
}

/** Query the state sizes of the last completed checkpoint. The query is throttled, because several checkpoints can complete within a second. */
export function useStateSizes(): readonly Schemas['ChainStatisticsRead'][] {
  const { id, last_checkpoint: last } = useJob();
  const { data } = useQuery({
    queryKey: ['job', id, 'sizes'],
    enabled: last !== null,
    refetchInterval: SIZES_EVERY_MS,
    structuralSharing: STRUCTURAL_SHARING,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: last!.id } }, signal })),
  });
  return data?.statistics.chains ?? NONE;
}

const NONE: readonly never[] = [];
const NO_METRICS: Metrics = { subtasks: [], bottleneck: null };

/** Query the details of the replayed checkpoint. The details of a stored checkpoint never change, so they are fetched only once. */
export function useReplayedCheckpoint(checkpointId: number | null): UseQueryResult<Schemas['CheckpointDetailRead']> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'replay', checkpointId],
    enabled: checkpointId !== null,
    staleTime: Infinity,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: checkpointId! } }, signal })),
  });
}
