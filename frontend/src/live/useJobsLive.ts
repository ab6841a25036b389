import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { nextJobs, unknownJobs, type JobsLive } from './jobsLive';
import { useStore } from './store';
import { useFollowed } from './useFollowed';

/** Whole jobs are asked for again at most so often: what changes all the time comes with the stream itself. */
const ASK_AGAIN_MS = 2_000;

/** All jobs, followed while this is on the page. A job's health is not told: when a state changes, lists of jobs are asked for again. */
export function useJobsLive(): JobsLive {
  const store = useFollowed('/api/v1/stream', unknownJobs, nextJobs);
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before = standings(store.get());
    const end = store.subscribe(() => {
      const now = standings(store.get());
      if (now === before) return;
      before = now;
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ['jobs'] });
      }, ASK_AGAIN_MS);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [queries, store]);
  return useStore(store, (jobs) => jobs);
}

/** With whether the line is there: what was missed while it was not may be what has changed. */
function standings({ jobs, line }: JobsLive): string {
  return `${line.is === 'live'} ` + [...jobs.values()].map(({ id, state, desired_state, run_id }) => `${id} ${state} ${desired_state} ${run_id}`).join();
}
