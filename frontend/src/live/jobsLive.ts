/** The live state of all jobs, which a pure reducer computes from the stream of jobs. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import type { Schemas } from '../api/types';
import { connecting, type ConnectionEvent, type ConnectionState, nextConnectionState } from './connectionState';
import type { ServerMessage } from './sseParser';
import { useStore } from './store';
import { useEventStream } from './useEventStream';

/** The status of one job. `state` is null before the job's first run. */
export type LiveJobStatus = Schemas['JobStatusRead'];

export interface JobsLive {
  connection: ConnectionState;
  jobs: ReadonlyMap<number, LiveJobStatus>;
}

type JobsUpdate = ConnectionEvent | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

export function initialJobs(nowMs: number): JobsLive {
  return { connection: connecting(nowMs), jobs: new Map() };
}

export function reduceJobs(live: JobsLive, update: JobsUpdate): JobsLive {
  if (update.type !== 'messages') return { ...live, connection: nextConnectionState(live.connection, update) };
  const connection = nextConnectionState(live.connection, { type: 'received', nowMs: update.nowMs, what: update.messages.length > 0 ? 'state' : 'nothing', entries: 0 });
  const summaries = update.messages.filter(({ event }) => event === 'job').map(({ data }) => JSON.parse(data) as LiveJobStatus);
  if (summaries.length === 0) return { ...live, connection };
  const jobs = new Map(live.jobs);
  for (const job of summaries) {
    if (job.deleted) jobs.delete(job.id);
    else jobs.set(job.id, job);
  }
  return { connection, jobs };
}

/** The minimum interval between refetches of the lists of jobs. Between refetches, the stream keeps the states of the jobs up to date. */
const REFETCH_MS = 2_000;

/** Return the live state of all jobs. The stream does not contain health, so the lists of jobs are refetched when a state changes. */
export function useJobsLive(): JobsLive {
  const store = useEventStream('/api/v1/stream', initialJobs, reduceJobs);
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let before = statesKey(store.get());
    const end = store.subscribe(() => {
      const now = statesKey(store.get());
      if (now === before) return;
      before = now;
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ['jobs'] });
      }, REFETCH_MS);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [queries, store]);
  return useStore(store, (jobs) => jobs);
}

/** Return a key that depends on the states of all jobs. The key also depends on the connection, because a disconnected page misses updates. */
function statesKey({ jobs, connection }: JobsLive): string {
  return `${connection.status === 'live'} ` + [...jobs.values()].map(({ id, state, desired_state, run_id }) => `${id} ${state} ${desired_state} ${run_id}`).join();
}
