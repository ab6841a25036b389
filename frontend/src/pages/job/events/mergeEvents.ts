import { COUNTED_MAX } from '../../../data/contentRange';
import type { JobEvent } from '../../../live/jobLive';
import { isPeriodic, isRoutine } from './routineEvents';

/**
 * Add streamed events to `listed`, a page of the log that is sorted newest first. `kinds`: the selected kinds of events. If `kinds` is empty, events
 * of all kinds are added. `hideRoutine`: whether the API has omitted routine events from `listed`. In this case, routine events are omitted from the
 * result as well. New events can turn the newest listed events into routine events.
 */
export function mergeLiveEvents(listed: readonly JobEvent[], streamed: readonly JobEvent[], kinds: readonly string[], hideRoutine = false): JobEvent[] {
  const newest = listed[0]?.number ?? 0;
  const newer = streamed.filter(({ number, kind }) => number > newest && (kinds.length === 0 || kinds.includes(kind)));
  const merged = [...newer].sort((a, b) => b.number - a.number).concat(listed);
  if (!hideRoutine) return merged;
  const known = new Map(merged.map((event) => [event.number, isPeriodic(event)]));
  const oldest = listed.at(-1)?.number ?? Infinity;
  // If an event between two listed events is missing, the event is routine.
  const periodicAt = (number: number): boolean => known.get(number) ?? (number > oldest && number < newest);
  return merged.filter(({ number }) => number < newest - 1 || !isRoutine(number, periodicAt));
}

/** Add streamed events to the total. If the total is larger than COUNTED_MAX, the API has stopped counting, so return the total unchanged. */
export function liveTotal(total: number, more: number): number {
  return total > COUNTED_MAX ? total : total + more;
}
