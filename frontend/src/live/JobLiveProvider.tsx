import { useQueryClient } from '@tanstack/react-query';
import { createContext, use, useEffect, type ReactNode } from 'react';

import { invalidate, staleResources, type StaleResource } from './invalidation';
import { reduceJob, initialJob, type JobLive, type JobLiveUpdate } from './jobLive';
import { useStore, type Store } from './store';
import { useEventStream } from './useEventStream';

type JobStore = Store<JobLive, JobLiveUpdate>;
const Context = createContext<JobStore | null>(null);

/** The minimum interval between refetches. Without a minimum interval, a job with many checkpoints a second would cause many requests a second. */
const REFETCH_MS = 1_000;

/** Subscribes to the stream of one job, provides the live state to its children, and refetches stale queries. */
export function JobLiveProvider({ jobId, children }: { jobId: number; children: ReactNode }) {
  const store = useEventStream(`/api/v1/jobs/${jobId}/events/stream`, initialJob, reduceJob);
  useRefresh(jobId, store);
  return <Context value={store}>{children}</Context>;
}

/** Return a part of the job's live state, as in `useJobLive(inProgress)`. The rules for `select` are the same as for `useStore`. */
export function useJobLive<Part>(select: (job: JobLive) => Part): Part {
  return useStore(useJobStore(), select);
}

/** Return the store of a job's live state, for components that draw every message without React, such as the wavefront. */
export function useJobStore(): JobStore {
  const store = use(Context);
  if (store === null) throw new Error('useJobLive and useJobStore require a JobLiveProvider');
  return store;
}

function useRefresh(jobId: number, store: JobStore): void {
  const queries = useQueryClient();
  useEffect(() => {
    const pending = new Set<StaleResource>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before = store.get();
    const refetch = (): void => {
      timer = undefined;
      invalidate(queries, jobId, pending);
      pending.clear();
    };
    const onUpdate = (): void => {
      const now = store.get();
      for (const resource of staleResources(before, now)) pending.add(resource);
      before = now;
      if (pending.size > 0) timer ??= setTimeout(refetch, REFETCH_MS);
    };
    const end = store.subscribe(onUpdate);
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [jobId, queries, store]);
}
