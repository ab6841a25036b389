import { COUNTED_MAX } from '../../../data/contentRange';
import type { JobEvent } from '../../../live/jobLive';

/**
 * Add streamed events to `listed`, a page of the log that is sorted newest first. `kinds`: the selected kinds of events. If `kinds` is empty, events
 * of all kinds are added.
 */
export function mergeLiveEvents(listed: readonly JobEvent[], streamed: readonly JobEvent[], kinds: readonly string[]): JobEvent[] {
  const newest = listed[0]?.number ?? 0;
  const newer = streamed.filter(({ number, kind }) => number > newest && (kinds.length === 0 || kinds.includes(kind)));
  return [...newer].sort((a, b) => b.number - a.number).concat(listed);
}

/** Add streamed events to the total. If the total is larger than COUNTED_MAX, the API has stopped counting, so return the total unchanged. */
export function liveTotal(total: number, more: number): number {
  return total > COUNTED_MAX ? total : total + more;
}
