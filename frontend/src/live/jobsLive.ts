/** What is known of all jobs from their stream: a pure reducer. */
import type { Schemas } from '../api/types';
import { nextLine, opening, type Line, type LineNews } from './line';
import type { ServerMessage } from './sse';

/** `state` null: it has no run yet. */
export type JobSummary = Schemas['JobNewsBody'];

export interface JobsLive {
  line: Line;
  jobs: ReadonlyMap<number, JobSummary>;
}

export type JobsNews = LineNews | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

export function unknownJobs(nowMs: number): JobsLive {
  return { line: opening(nowMs), jobs: new Map() };
}

export function nextJobs(known: JobsLive, news: JobsNews): JobsLive {
  if (news.type !== 'messages') return { ...known, line: nextLine(known.line, news) };
  const line = nextLine(known.line, { type: 'heard', nowMs: news.nowMs, what: news.messages.length > 0 ? 'standing' : 'nothing', entries: 0 });
  const told = news.messages.filter(({ event }) => event === 'job').map(({ data }) => JSON.parse(data) as JobSummary);
  if (told.length === 0) return { ...known, line };
  const jobs = new Map(known.jobs);
  for (const job of told) {
    if (job.deleted) jobs.delete(job.id);
    else jobs.set(job.id, job);
  }
  return { line, jobs };
}
