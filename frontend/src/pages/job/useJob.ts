import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { createContext, use } from 'react';

import { unwrap, api } from '../../api/client';
import type { Schemas } from '../../api/types';
import { ROWS_MAX } from '../../data/contentRange';

export type Job = Schemas['JobRead'];

export const JobContext = createContext<Job | null>(null);

/** Return the job of this page. The stream keeps the job up to date. To change the job, pass the `version` of the job to `ifMatch`. */
export function useJob(): Job {
  const job = use(JobContext);
  if (job === null) throw new Error('useJob needs a JobContext.');
  return job;
}

/** Query the current version of the job's spec. */
export function useSpec() {
  const { id, spec_number } = useJob();
  return useQuery({
    queryKey: ['job', id, 'specs', spec_number],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: id, number: spec_number } }, signal })),
  });
}

/** Query the runs of the job, newest first. The query returns at most `ROWS_MAX` runs. */
export function useRuns() {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'runs'],
    queryFn: ({ signal }) => {
      const query = { filter: JSON.stringify({ job_id: id }), sort: JSON.stringify(['number', 'DESC']), range: `[0,${ROWS_MAX - 1}]` };
      return unwrap(api.GET('/api/v1/runs', { params: { query }, signal }));
    },
  });
}

/** Query the graph that a run has deployed. `keep`: whether to return the graph of the previous run until the graph of this run is loaded. */
export function useGraph(runId: number | null, { keep = false } = {}): UseQueryResult<Schemas['GraphRead']> {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'graph', runId],
    enabled: runId !== null,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/runs/{run_id}/graph', { params: { path: { run_id: runId! } }, signal })),
  });
}

/** Return the id of the newest run if this run has deployed a graph, else null. */
export function useDeployedRun(): number | null {
  const { run } = useJob();
  return run?.graph_id == null ? null : run.id;
}
