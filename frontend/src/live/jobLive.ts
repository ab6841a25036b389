/** What is known of one job from its stream: a pure reducer. */
import type { Schemas } from '../api/types';
import { nextLine, opening, type Line, type LineNews } from './line';
import type { ServerMessage } from './sse';

export type JobEvent = Schemas['EventBody'];
export type RunNews = Schemas['RunNewsBody'];
/** Of the checkpoint in progress. `progress`: [chain, index, after_ms] of each acknowledgement so far. */
export type Progress = Schemas['ProgressBody'];

/** Of the log the newest entries only: the rest is in `GET /events`. */
export const EVENTS_MAX = 500;

export interface JobLive {
  line: Line;
  /** Null: not told yet, or there is none. */
  run: RunNews | null;
  /** The checkpoint that was last in progress. It stays until the next one begins; `ended` says what became of it. */
  progress: Progress | null;
  ended: { checkpoint: number; how: 'completed' | 'failed'; reason: string } | null;
  /** Oldest first. */
  events: readonly JobEvent[];
  /** Number of the newest event that was told; 0: none yet. */
  eventNumber: number;
}

export type JobNews = LineNews | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

export function unknownJob(nowMs: number): JobLive {
  return { line: opening(nowMs), run: null, progress: null, ended: null, events: [], eventNumber: 0 };
}

export function nextJob(job: JobLive, news: JobNews): JobLive {
  if (news.type !== 'messages') return { ...job, line: nextLine(job.line, news) };
  const told = news.messages.map(parsed).filter((one) => one !== null);
  const entries = told.filter((one) => one.is === 'event').length;
  const last = told.at(-1)?.is;
  const what = last === undefined ? 'nothing' : last === 'event' ? 'entries' : 'standing';
  const line = nextLine(job.line, { type: 'heard', nowMs: news.nowMs, what, entries });
  return told.reduce(apply, { ...job, line });
}

type Told = { is: 'event'; body: JobEvent } | { is: 'run'; body: RunNews } | { is: 'progress'; body: Progress };

/** Null: a newer backend tells what this page does not know. */
function parsed(message: ServerMessage): Told | null {
  if (message.event !== 'event' && message.event !== 'run' && message.event !== 'progress') return null;
  return { is: message.event, body: JSON.parse(message.data) };
}

function apply(job: JobLive, told: Told): JobLive {
  switch (told.is) {
    case 'run':
      return givenUp({ ...job, run: told.body }, told.body);
    case 'progress':
      // Of an older checkpoint only what was known of it: the newest one counts.
      if (job.progress !== null && told.body.checkpoint < job.progress.checkpoint && told.body.run_id === job.progress.run_id) return job;
      return { ...job, progress: told.body, ended: job.ended?.checkpoint === told.body.checkpoint ? job.ended : null };
    case 'event': {
      const known = job.events.at(-1)?.number ?? 0;
      if (told.body.number <= known && told.body.number > 0 && job.events.some(({ number }) => number === told.body.number)) return job;
      // The database was set back to a backup: what has higher numbers did not happen.
      const before = told.body.number <= known ? job.events.filter(({ number }) => number < told.body.number) : job.events;
      return { ...ending(job, told.body), events: [...before, told.body].slice(-EVENTS_MAX), eventNumber: told.body.number };
    }
  }
}

/** A driver that is lost says nothing of its checkpoint: that ends with its run. */
function givenUp(job: JobLive, run: RunNews): JobLive {
  const left = inProgress(job);
  if (left === null || (run.id === left.run_id && run.ended_at === null)) return job;
  return { ...job, ended: { checkpoint: left.checkpoint, how: 'failed', reason: 'its run is over' } };
}

function ending(job: JobLive, event: JobEvent): JobLive {
  const checkpoint = event.fields.checkpoint;
  if (typeof checkpoint !== 'number') return job;
  if (event.kind === 'CheckpointCompleted') return { ...job, ended: { checkpoint, how: 'completed', reason: '' } };
  if (event.kind === 'CheckpointFailed') return { ...job, ended: { checkpoint, how: 'failed', reason: String(event.fields.reason ?? '') } };
  return job;
}

/** The checkpoint that runs at this moment, if one does. */
export function inProgress(job: JobLive): Progress | null {
  return job.progress !== null && job.ended?.checkpoint !== job.progress.checkpoint ? job.progress : null;
}
