import { useQuery } from '@tanstack/react-query';

import { api, unwrap } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';

export type ProfileOperation = Schemas['OperationRead'];

/** The API keeps this many profiles of each job. */
const PROFILES_MAX = 20;

/** Query the requests for profiles of this job, newest first. */
export function useProfiles() {
  const { id } = useJob();
  return useQuery({
    queryKey: ['job', id, 'operations', 'profiles'],
    queryFn: ({ signal }) => {
      const query = { filter: JSON.stringify({ job_id: id, kind: 'profile' }), sort: JSON.stringify(['id', 'DESC']), range: `[0,${PROFILES_MAX - 1}]` };
      return unwrap(api.GET('/api/v1/operations', { params: { query }, signal }));
    },
  });
}

/** Return the slot and the duration of a requested profile. */
export function requestOf({ request }: ProfileOperation): { slot: number; seconds: number } {
  return { slot: Number(request.slot), seconds: Number(request.seconds) };
}
