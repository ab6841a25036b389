import type { JobEvent } from '../../../live/jobLive';

/** A page of the log, newest first, and what was told since: those that are newer and of the kinds that are wanted (none: of all), on top. */
export function withTold(listed: readonly JobEvent[], told: readonly JobEvent[], kinds: readonly string[]): JobEvent[] {
  const newest = listed[0]?.number ?? 0;
  const newer = told.filter(({ number, kind }) => number > newest && (kinds.length === 0 || kinds.includes(kind)));
  return [...newer].sort((a, b) => b.number - a.number).concat(listed);
}
