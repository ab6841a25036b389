import { useQuery } from '@tanstack/react-query';

import { unwrap, api } from '../../api/client';
import type { Schemas } from '../../api/types';
import { NO_VALUE } from '../../format';
import { useJob } from './useJob';

/** The maximum number of rows in a response (ROWS_MAX in backend/weir_backend/kit/listing.py). */
const MOST = 500;

const numbersOf = (runs: readonly Schemas['RunRead'][]): ReadonlyMap<number, number> => new Map(runs.map(({ id, number }) => [id, number]));

/** The number of a run in its job, by the id of the run. Ids count across jobs. */
export function RunNumber({ of }: { of: number }) {
  const { id } = useJob();
  const { data } = useQuery({
    queryKey: ['job', id, 'runs', 'numbers'],
    select: numbersOf,
    queryFn: ({ signal }) => {
      const query = { filter: JSON.stringify({ job_id: id }), sort: JSON.stringify(['number', 'DESC']), range: `[0,${MOST - 1}]` };
      return unwrap(api.GET('/api/v1/runs', { params: { query }, signal }));
    },
  });
  return <>{data?.get(of) ?? NO_VALUE}</>;
}
