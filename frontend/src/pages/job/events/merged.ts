import { COUNTED_MAX } from '../../../data/contentRange';
import type { JobEvent } from '../../../live/jobLive';

/** A page of the log, newest first, and what was told since: those that are newer and of the kinds that are wanted (none: of all), on top. */
export function withTold(listed: readonly JobEvent[], told: readonly JobEvent[], kinds: readonly string[]): JobEvent[] {
  const newest = listed[0]?.number ?? 0;
  const newer = told.filter(({ number, kind }) => number > newest && (kinds.length === 0 || kinds.includes(kind)));
  return [...newer].sort((a, b) => b.number - a.number).concat(listed);
}

/** How many there are in all. Beyond what the API counts it only says that there are more, which stays true. */
export function withMore(total: number, more: number): number {
  return total > COUNTED_MAX ? total : total + more;
}
