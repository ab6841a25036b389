import { COUNTED_MAX } from '../../../data/contentRange';
import type { JobEvent } from '../../../live/jobLive';

/** Return a page of the log, newest first, with newer streamed events of the selected kinds on top (no kinds: all). */
export function mergeLiveEvents(listed: readonly JobEvent[], streamed: readonly JobEvent[], kinds: readonly string[]): JobEvent[] {
  const newest = listed[0]?.number ?? 0;
  const newer = streamed.filter(({ number, kind }) => number > newest && (kinds.length === 0 || kinds.includes(kind)));
  return [...newer].sort((a, b) => b.number - a.number).concat(listed);
}

/** Return the total. Beyond what the API counts, the total is a lower bound and stays. */
export function liveTotal(total: number, more: number): number {
  return total > COUNTED_MAX ? total : total + more;
}
