import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';

import { api, once } from '../../../api/client';
import { useJob } from '../useJob';

/** A checkpoint out of turn, kept as long as others; or a savepoint, which stays until somebody deletes it. */
export type Taken = 'checkpoint' | 'savepoint';

export function useTake(): { take: (what: Taken) => void; isPending: boolean } {
  const { id } = useJob();
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (what: Taken) =>
      once((header) => {
        const params = { path: { job_id: id }, header };
        return what === 'savepoint' ? api.POST('/api/v1/jobs/{job_id}/savepoints', { params }) : api.POST('/api/v1/jobs/{job_id}/checkpoints', { params });
      }),
    onSuccess: (_, what) => {
      notify(`A ${what} is being taken`, { type: 'info' });
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  return { take: mutate, isPending };
}
