import { useQuery } from '@tanstack/react-query';

import { unwrap, api } from '../../api/client';
import type { Schemas } from '../../api/types';
import { ROWS_MAX } from '../../data/contentRange';
import { NO_VALUE } from '../../format';
import { useJob } from './useJob';

const numbersOf = (runs: readonly Schemas['RunRead'][]): ReadonlyMap<number, number> => new Map(runs.map(({ id, number }) => [id, number]));

/** Shows the number of a run within its job. `of` is the id of the run. Run ids are unique across all jobs. */
export function RunNumber({ of }: { of: number }) {
  const { id } = useJob();
  const { data } = useQuery({
    queryKey: ['job', id, 'runs', 'numbers'],
    select: numbersOf,
    queryFn: ({ signal }) => {
      const query = { filter: JSON.stringify({ job_id: id }), sort: JSON.stringify(['number', 'DESC']), range: `[0,${ROWS_MAX - 1}]` };
      return unwrap(api.GET('/api/v1/runs', { params: { query }, signal }));
    },
  });
  return <>{data?.get(of) ?? NO_VALUE}</>;
}
