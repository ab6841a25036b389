/** The live state of one job, which a pure reducer computes from the job's stream. */
import type { Schemas } from '../api/types';
import { nextConnectionState, connecting, type ConnectionState, type ConnectionEvent } from './connectionState';
import type { ServerMessage } from './sseParser';

export type JobEvent = Schemas['EventRead'];
type RunNews = Schemas['RunStatusRead'];
/** The checkpoint in progress. `progress` contains the chain, the subtask index and the time since the trigger for each acknowledgement so far. */
export type Progress = Schemas['CheckpointProgressRead'];

/** The number of events to keep. `GET /events` returns older events. */
export const EVENTS_MAX = 500;

export interface JobLive {
  connection: ConnectionState;
  /** The newest run. Null if the job has no run, or if the page has not received the run yet. */
  run: RunNews | null;
  /**
   * The progress of the newest checkpoint. After a checkpoint has ended, its progress stays until the next checkpoint starts, and its result is in
   * `outcome`.
   */
  progress: Progress | null;
  outcome: { checkpoint: number; result: 'completed' | 'failed'; reason: string } | null;
  /** The newest events, in ascending order of their numbers. */
  events: readonly JobEvent[];
  /** The number of the newest event, or 0 if there is no event yet. */
  lastEventNumber: number;
}

export type JobLiveUpdate = ConnectionEvent | { type: 'messages'; nowMs: number; messages: readonly ServerMessage[] };

export function initialJob(nowMs: number): JobLive {
  return { connection: connecting(nowMs), run: null, progress: null, outcome: null, events: [], lastEventNumber: 0 };
}

export function reduceJob(job: JobLive, update: JobLiveUpdate): JobLive {
  if (update.type !== 'messages') return { ...job, connection: nextConnectionState(job.connection, update) };
  const messages = update.messages.map(parse).filter((message) => message !== null);
  const entries = messages.filter(({ type }) => type === 'event').length;
  const last = messages.at(-1)?.type;
  const what = last === undefined ? 'nothing' : last === 'event' ? 'entries' : 'state';
  const connection = nextConnectionState(job.connection, { type: 'received', nowMs: update.nowMs, what, entries });
  return messages.reduce(apply, { ...job, connection });
}

type JobMessage = { type: 'event'; body: JobEvent } | { type: 'run'; body: RunNews } | { type: 'progress'; body: Progress };

/** Parse a message. Returns null for an unknown type of message, which a newer backend can send. */
function parse(message: ServerMessage): JobMessage | null {
  if (message.event !== 'event' && message.event !== 'run' && message.event !== 'progress') return null;
  return { type: message.event, body: JSON.parse(message.data) };
}

function apply(job: JobLive, { type, body }: JobMessage): JobLive {
  switch (type) {
    case 'run':
      return failWithRun({ ...job, run: body }, body);
    case 'progress':
      // Ignore the progress of older checkpoints of the same run.
      if (job.progress !== null && body.checkpoint < job.progress.checkpoint && body.run_id === job.progress.run_id) return job;
      return { ...job, progress: body, outcome: job.outcome?.checkpoint === body.checkpoint ? job.outcome : null };
    case 'event': {
      const newest = job.events.at(-1)?.number ?? 0;
      if (body.number <= newest && body.number > 0 && job.events.some(({ number }) => number === body.number)) return job;
      // The database was restored from a backup, so events with higher numbers no longer exist.
      const before = body.number <= newest ? job.events.filter(({ number }) => number < body.number) : job.events;
      return { ...recordOutcome(job, body), events: [...before, body].slice(-EVENTS_MAX), lastEventNumber: body.number };
    }
  }
}

/** A lost driver does not report the end of its checkpoint, so mark the checkpoint as failed when its run has ended or another run has started. */
function failWithRun(job: JobLive, run: RunNews): JobLive {
  const pending = inProgress(job);
  if (pending === null || (run.id === pending.run_id && run.ended_at === null)) return job;
  return { ...job, outcome: { checkpoint: pending.checkpoint, result: 'failed', reason: 'its run has ended' } };
}

function recordOutcome(job: JobLive, event: JobEvent): JobLive {
  const checkpoint = event.fields.checkpoint;
  if (typeof checkpoint !== 'number') return job;
  if (event.kind === 'CheckpointCompleted') return { ...job, outcome: { checkpoint, result: 'completed', reason: '' } };
  if (event.kind === 'CheckpointFailed') return { ...job, outcome: { checkpoint, result: 'failed', reason: String(event.fields.reason ?? '') } };
  return job;
}

/** Return the checkpoint in progress, or null. */
export function inProgress(job: JobLive): Progress | null {
  return job.progress !== null && job.outcome?.checkpoint !== job.progress.checkpoint ? job.progress : null;
}
