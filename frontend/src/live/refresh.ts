/** Which answers of the API are out of date once something was told. Pure: what is known of a job in, names of resources out. */
import type { QueryClient } from '@tanstack/react-query';

import { EVENTS_MAX, type JobLive } from './jobLive';

/** As resources of the data provider are named; queries about one job have the key `['job', id, resource, …]`. */
export const ALL = ['jobs', 'checkpoints', 'runs', 'failures', 'plans', 'specs', 'operations', 'graph', 'events'] as const;
export type Stale = (typeof ALL)[number];

const OF_KIND: Record<string, readonly Stale[]> = {
  RunStateChanged: ['jobs', 'runs', 'failures'],
  GraphDeployed: ['jobs', 'runs', 'graph'],
  FailureOccurred: ['jobs', 'failures'],
  Recovered: ['jobs', 'failures'],
  CheckpointTriggered: ['checkpoints'],
  CheckpointCompleted: ['checkpoints', 'jobs'],
  CheckpointFailed: ['checkpoints', 'jobs'],
  CommandAnswered: ['operations'],
};
/** What the control plane itself did: plans, versions, verbs. It happens seldom, so nothing is left out. */
const OTHERWISE: readonly Stale[] = ['jobs', 'runs', 'plans', 'specs', 'operations', 'checkpoints'];

/** What is out of date now that `now` is known of the job, and was not when `before` was. The log only with all else: its page shows what is told. */
export function staleSince(before: JobLive, now: JobLive): Iterable<Stale> {
  // What was shown before the line was there may be older than what the line told first.
  if (now.line.is === 'live' && before.line.is !== 'live') return ALL;
  const fresh = now.events.filter(({ number }) => number > before.eventNumber);
  // Those that came before them, at once, are forgotten: they may have been of any kind.
  if (fresh.length === EVENTS_MAX) return ALL;
  return new Set(fresh.flatMap(({ kind }) => OF_KIND[kind] ?? OTHERWISE));
}

/** Asks again for what is shown just now, and marks the rest. */
export function invalidate(queries: QueryClient, jobId: number, stale: Iterable<Stale>): void {
  const names = new Set<unknown>(stale);
  void queries.invalidateQueries({
    predicate: ({ queryKey: [first, id, name] }) => names.has(first) || (first === 'job' && id === jobId && names.has(name)),
  });
}
