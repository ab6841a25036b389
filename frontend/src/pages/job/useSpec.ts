import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../api/client';
import { useJob } from './useJob';

/** The version in force. */
export function useSpec() {
  const { id, spec_number } = useJob();
  return useQuery({
    queryKey: ['job', id, 'specs', spec_number],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: id, number: spec_number } }, signal })),
  });
}
