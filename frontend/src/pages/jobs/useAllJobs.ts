import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useDataProvider, type DataProvider } from 'react-admin';

import type { Schemas } from '../../api/types';

export type Job = Schemas['JobShown'];

/** The stream tells states of runs, and no health: code that does not compile, a job that is given up. */
export const HEALTH_AGAIN_MS = 15_000;
const PAGE = 500;
/** Beyond that the page says that it does not show all (home/index.tsx). */
export const JOBS_MAX = 2_000;

/** All jobs with their health, in a few requests. The key begins with `jobs`, so that what invalidates lists of jobs invalidates this. */
export function useAllJobs(): UseQueryResult<{ jobs: Job[]; total: number }> {
  const provider = useDataProvider<DataProvider>();
  return useQuery({
    queryKey: ['jobs', 'all'],
    refetchInterval: HEALTH_AGAIN_MS,
    queryFn: async ({ signal }) => {
      const jobs: Job[] = [];
      for (let page = 1; ; page += 1) {
        const found = await provider.getList<Job>('jobs', {
          pagination: { page, perPage: PAGE }, sort: { field: 'id', order: 'ASC' }, filter: {}, signal,
        });
        jobs.push(...found.data);
        if (found.data.length < PAGE || jobs.length >= JOBS_MAX) return { jobs, total: found.total ?? jobs.length };
      }
    },
  });
}
