import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

import { answered, api } from '../../api/client';
import type { Schemas } from '../../api/types';

export type Rates = Schemas['JobRatesBody'];

/** Drivers say what they count every few seconds. */
const ASK_AGAIN_MS = 5_000;

/** What the jobs of one page of a list do just now, by job. Those that say nothing are not in it. */
export function useRates(jobIds: readonly number[]): ReadonlyMap<number, Rates> {
  const { data } = useQuery({
    queryKey: ['rates', jobIds],
    enabled: jobIds.length > 0,
    refetchInterval: ASK_AGAIN_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/metrics/jobs', { params: { query: { job_id: [...jobIds] } }, signal })),
  });
  return useMemo(() => new Map((data ?? []).map((one) => [one.job_id, one])), [data]);
}
