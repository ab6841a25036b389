import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../api/client';
import type { Schemas } from '../../api/types';
import { NOTHING } from '../../format';
import { useJob } from './useJob';

/** What one answer holds at most: backend/weir_backend/kit/listing.py, ROWS_MAX. */
const MOST = 500;

const numbersOf = (runs: readonly Schemas['RunBody'][]): ReadonlyMap<number, number> => new Map(runs.map(({ id, number }) => [id, number]));

/** What people call a run of the job, by its id: its number in the job. Ids count through all jobs. */
export function RunNumber({ of }: { of: number }) {
  const { id } = useJob();
  const { data } = useQuery({
    queryKey: ['job', id, 'runs', 'numbers'],
    select: numbersOf,
    queryFn: ({ signal }) => {
      const query = { filter: JSON.stringify({ job_id: id }), sort: JSON.stringify(['number', 'DESC']), range: `[0,${MOST - 1}]` };
      return answered(api.GET('/api/v1/runs', { params: { query }, signal }));
    },
  });
  return <>{data?.get(of) ?? NOTHING}</>;
}
