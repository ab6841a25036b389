/** Decides which queries are stale after stream updates. Pure: two states of a job in, resource names out. */
import type { QueryClient } from '@tanstack/react-query';

import { EVENTS_MAX, type JobLive } from './jobLive';

/** Resource names of the data provider. Queries of one job have the key `['job', id, resource, …]`. */
export const ALL_RESOURCES = ['jobs', 'checkpoints', 'runs', 'failures', 'plans', 'specs', 'operations', 'graph', 'events'] as const;
export type StaleResource = (typeof ALL_RESOURCES)[number];

const STALE_AFTER_EVENT: Record<string, readonly StaleResource[]> = {
  RunStateChanged: ['jobs', 'runs', 'failures'],
  GraphDeployed: ['jobs', 'runs', 'graph'],
  FailureOccurred: ['jobs', 'failures'],
  Recovered: ['jobs', 'failures'],
  CheckpointTriggered: ['checkpoints'],
  CheckpointCompleted: ['checkpoints', 'jobs'],
  CheckpointFailed: ['checkpoints', 'jobs'],
  CommandAnswered: ['operations'],
};
/** For events of the control plane, such as plans and versions. They are rare, so all of these are refetched. */
const STALE_AFTER_OTHER_EVENTS: readonly StaleResource[] = ['jobs', 'runs', 'plans', 'specs', 'operations', 'checkpoints'];

/** The resources that became stale between two states. 'events' only together with all others: the log's page shows stream events itself. */
export function staleResources(before: JobLive, now: JobLive): Iterable<StaleResource> {
  // Data fetched before the stream was live may be older than its first message.
  if (now.connection.status === 'live' && before.connection.status !== 'live') return ALL_RESOURCES;
  const fresh = now.events.filter(({ number }) => number > before.lastEventNumber);
  // Older events were dropped; they may have been of any kind.
  if (fresh.length === EVENTS_MAX) return ALL_RESOURCES;
  return new Set(fresh.flatMap(({ kind }) => STALE_AFTER_EVENT[kind] ?? STALE_AFTER_OTHER_EVENTS));
}

/** Refetch the stale queries in use and mark the others as stale. */
export function invalidate(queries: QueryClient, jobId: number, stale: Iterable<StaleResource>): void {
  const names = new Set<unknown>(stale);
  void queries.invalidateQueries({
    predicate: ({ queryKey: [first, id, name] }) => names.has(first) || (first === 'job' && id === jobId && names.has(name)),
  });
}
