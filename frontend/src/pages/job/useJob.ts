import { createContext, use } from 'react';

import type { Schemas } from '../../api/types';

export type Job = Schemas['JobShown'];

export const JobContext = createContext<Job | null>(null);

/** The job whose page this is, kept fresh by its stream. Its `version` is for `ifMatch`. */
export function useJob(): Job {
  const job = use(JobContext);
  if (job === null) throw new Error('this is shown on the page of a job only');
  return job;
}
