/** Finds the queries that a stream update made stale, and refetches them. A pure function compares the live states of a job before and after the update. */
import type { QueryClient } from '@tanstack/react-query';

import { EVENTS_MAX, type JobLive } from './jobLive';

/** The resource names that the data provider uses. Queries of one job have the key `['job', id, resource, …]`. */
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
/**
 * The resources that become stale after an event of the control plane, such as a new plan or version. Events of the control plane are rare, so each
 * event makes all resources in this list stale.
 */
const STALE_AFTER_OTHER_EVENTS: readonly StaleResource[] = ['jobs', 'runs', 'plans', 'specs', 'operations', 'checkpoints'];

/**
 * Return the resources of a job that became stale between the states `before` and `now`. A new event does not make the resource 'events' stale,
 * because the page of the event log shows new events from the stream. Only a new connection or very many new events make all resources
 * stale, including 'events'.
 */
export function staleResources(before: JobLive, now: JobLive): Iterable<StaleResource> {
  // Data that was fetched before the stream was live can be older than the first message of the stream, so all resources are stale.
  if (now.connection.status === 'live' && before.connection.status !== 'live') return ALL_RESOURCES;
  const fresh = now.events.filter(({ number }) => number > before.lastEventNumber);
  // Older events may have been dropped and their kinds are unknown, so treat all resources as stale.
  if (fresh.length === EVENTS_MAX) return ALL_RESOURCES;
  return new Set(fresh.flatMap(({ kind }) => STALE_AFTER_EVENT[kind] ?? STALE_AFTER_OTHER_EVENTS));
}

/** Refetch stale queries that are in use, and mark all other stale queries for a later refetch. */
export function invalidate(queries: QueryClient, jobId: number, stale: Iterable<StaleResource>): void {
  const names = new Set<unknown>(stale);
  void queries.invalidateQueries({
    predicate: ({ queryKey: [first, id, name] }) => names.has(first) || (first === 'job' && id === jobId && names.has(name)),
  });
}
