import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { answered, api } from '../../api/client';
import type { Schemas } from '../../api/types';
import { useJob } from './useJob';

/** The graph that a run has deployed. `keep`: that of the run before stays until it is there. */
export function useGraph(runId: number | null, { keep = false } = {}): UseQueryResult<Schemas['GraphBody']> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'graph', runId],
    enabled: runId !== null,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    queryFn: ({ signal }) => answered(api.GET('/api/v1/runs/{run_id}/graph', { params: { path: { run_id: runId! } }, signal })),
  });
}

/** That of the newest run; null: it has deployed none yet. */
export function useDeployedRun(): number | null {
  const { run } = useJob();
  return run?.graph_id == null ? null : run.id;
}
