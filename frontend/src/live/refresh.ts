/** Which answers of the API are out of date once something was told. Pure: kinds of events in, names of resources out. */
import type { QueryClient } from '@tanstack/react-query';

/** As resources of the data provider are named; queries about one job have the key `['job', id, resource, …]`. */
export type Stale = 'jobs' | 'checkpoints' | 'runs' | 'failures' | 'plans' | 'specs' | 'operations' | 'graph';

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

export function staleAfter(kinds: Iterable<string>): Set<Stale> {
  const found = new Set<Stale>();
  for (const kind of kinds) for (const one of OF_KIND[kind] ?? OTHERWISE) found.add(one);
  return found;
}

/** Asks again for what is shown just now, and marks the rest. */
export function invalidate(queries: QueryClient, jobId: number, stale: Iterable<Stale>): void {
  const names = new Set<unknown>(stale);
  void queries.invalidateQueries({
    predicate: ({ queryKey: [first, id, name] }) => names.has(first) || (first === 'job' && id === jobId && names.has(name)),
  });
}
