import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

import { unwrap, api } from '../../api/client';
import type { Schemas } from '../../api/types';

export type Rates = Schemas['JobRatesRead'];

/** The interval at which drivers report metrics. */
const REFETCH_MS = 5_000;

/** Return the current rates of the jobs on one page of the list. Jobs without metrics are omitted. */
export function useRates(jobIds: readonly number[]): ReadonlyMap<number, Rates> {
  const { data } = useQuery({
    queryKey: ['rates', jobIds],
    enabled: jobIds.length > 0,
    refetchInterval: REFETCH_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/metrics/jobs', { params: { query: { job_id: [...jobIds] } }, signal })),
  });
  return useMemo(() => new Map((data ?? []).map((one) => [one.job_id, one])), [data]);
}
