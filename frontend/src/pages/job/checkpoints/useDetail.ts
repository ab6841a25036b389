import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';

/**
 * What is stored of a checkpoint, asked for once for each of its states: while it is in progress its stream tells the rest, and once it is over
 * nothing of this changes. It is long, so nothing that happens elsewhere has it asked for again. Null: not wanted.
 */
export function useDetail(of: Pick<Schemas['CheckpointBody'], 'id' | 'state'> | null): UseQueryResult<Schemas['CheckpointDetailBody']> {
  const job = useJob();
  return useQuery({
    queryKey: ['job', job.id, 'checkpoint', of?.id, of?.state],
    enabled: of !== null,
    staleTime: Infinity,
    structuralSharing: false,
    // What was shown before stays until the rest is there.
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: of!.id } }, signal })),
  });
}
