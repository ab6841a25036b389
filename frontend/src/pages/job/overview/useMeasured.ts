/** What is asked for every few seconds: metrics, and the sizes of states in the last checkpoint. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { serverNow } from '../../../api/serverClock';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';
import { isMeasured } from './figures';

const METRICS_EVERY_MS = 5_000;
const SIZES_EVERY_MS = 15_000;
/** Few points: a job may have thousands of subtasks, and only the newest point is shown. */
const STEP_S = 10;
const OVER_MS = 40_000;
/** There are new numbers each time: to compare them with the old ones would only take time, of thousands of subtasks a lot. */
const COMPARED = false;

/** Of the job's subtasks, the last seconds. */
export function useMetrics(): readonly Schemas['SubtaskSeriesBody'][] {
  const { id, state } = useJob();
  const running = isMeasured(state);
  const { data } = useQuery({
    queryKey: ['job', id, 'metrics', 'newest'],
    enabled: running,
    refetchInterval: METRICS_EVERY_MS,
    structuralSharing: COMPARED,
    queryFn: ({ signal }) =>
      answered(
        api.GET('/api/v1/jobs/{job_id}/metrics', {
          params: { path: { job_id: id }, query: { since: new Date(serverNow() - OVER_MS).toISOString(), step_s: STEP_S } },
          signal,
        }),
      ),
  });
  return running && data ? data.subtasks : NONE;
}

/** Of the last completed checkpoint. Not at each one: there may be many a second. */
export function useSizes(): readonly Schemas['ChainStatisticsBody'][] {
  const { id, last_checkpoint: last } = useJob();
  const { data } = useQuery({
    queryKey: ['job', id, 'sizes'],
    enabled: last !== null,
    refetchInterval: SIZES_EVERY_MS,
    structuralSharing: COMPARED,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: last!.id } }, signal })),
  });
  return data?.statistics.chains ?? NONE;
}

const NONE: readonly never[] = [];

/** Of the checkpoint that is replayed: it is over, so it is asked for once. */
export function useCheckpointDetail(checkpointId: number | null): UseQueryResult<Schemas['CheckpointDetailBody']> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'replay', checkpointId],
    enabled: checkpointId !== null,
    staleTime: Infinity,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: checkpointId! } }, signal })),
  });
}
