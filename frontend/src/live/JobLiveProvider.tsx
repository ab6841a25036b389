import { useQueryClient } from '@tanstack/react-query';
import { createContext, use, useEffect, type ReactNode } from 'react';

import { invalidate, staleSince, type Stale } from './refresh';
import { nextJob, unknownJob, type JobLive, type JobNews } from './jobLive';
import { useStore, type Store } from './store';
import { useFollowed } from './useFollowed';

type JobStore = Store<JobLive, JobNews>;
const Context = createContext<JobStore | null>(null);

/** Not more often: a job with many checkpoints a second must not make the browser ask as often. */
const ASK_AGAIN_MS = 1_000;

/** Follows one job for all that is inside, and has what is shown of it asked for again when it has changed. */
export function JobLiveProvider({ jobId, children }: { jobId: number; children: ReactNode }) {
  const store = useFollowed(`/api/v1/jobs/${jobId}/events/stream`, unknownJob, nextJob);
  useRefresh(jobId, store);
  return <Context value={store}>{children}</Context>;
}

/** A part of what is known of the job: `useJobLive(inProgress)`. See `useStore` for what `select` may do. */
export function useJobLive<Part>(select: (job: JobLive) => Part): Part {
  return useStore(useJobStore(), select);
}

/** The store itself, for what draws by itself at each message (the wavefront). */
export function useJobStore(): JobStore {
  const store = use(Context);
  if (store === null) throw new Error('this is shown inside of a JobLiveProvider only');
  return store;
}

function useRefresh(jobId: number, store: JobStore): void {
  const queries = useQueryClient();
  useEffect(() => {
    const waiting = new Set<Stale>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before = store.get();
    const ask = (): void => {
      timer = undefined;
      invalidate(queries, jobId, waiting);
      waiting.clear();
    };
    const look = (): void => {
      const now = store.get();
      for (const one of staleSince(before, now)) waiting.add(one);
      before = now;
      if (waiting.size > 0) timer ??= setTimeout(ask, ASK_AGAIN_MS);
    };
    const end = store.subscribe(look);
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [jobId, queries, store]);
}
