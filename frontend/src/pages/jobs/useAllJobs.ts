import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useDataProvider, type DataProvider } from 'react-admin';

import type { Schemas } from '../../api/types';
import { ROWS_MAX } from '../../data/contentRange';

export type Job = Schemas['JobRead'];

/** The refetch interval. Jobs are refetched because the stream does not contain health. */
export const HEALTH_REFETCH_MS = 15_000;
/** The maximum number of jobs to fetch. If the platform has more jobs, the home page says how many jobs it covers. */
export const JOBS_MAX = 2_000;

/** Fetch all jobs in a few requests. The query key starts with `jobs`, so this query becomes stale together with the lists of jobs. */
export function useAllJobs(): UseQueryResult<{ jobs: Job[]; total: number }> {
  const provider = useDataProvider<DataProvider>();
  return useQuery({
    queryKey: ['jobs', 'all'],
    refetchInterval: HEALTH_REFETCH_MS,
    queryFn: async ({ signal }) => {
      const jobs: Job[] = [];
      for (let page = 1; ; page += 1) {
        const found = await provider.getList<Job>('jobs', {
          pagination: { page, perPage: ROWS_MAX }, sort: { field: 'id', order: 'ASC' }, filter: {}, signal,
        });
        jobs.push(...found.data);
        if (found.data.length < ROWS_MAX || jobs.length >= JOBS_MAX) return { jobs, total: found.total ?? jobs.length };
      }
    },
  });
}
