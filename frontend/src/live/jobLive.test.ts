import { describe, expect, it } from 'vitest';

import { EVENTS_MAX, inProgress, nextJob, unknownJob, type JobEvent, type JobLive, type Progress } from './jobLive';
import type { ServerMessage } from './sse';

const event = (number: number, kind = 'RunStateChanged', fields: JobEvent['fields'] = {}): ServerMessage => ({
  event: 'event',
  data: JSON.stringify({ id: number, job_id: 1, number, run_id: 1, run_event: number, kind, fields, at: '', received_at: '' }),
});
const progress = (checkpoint: number, acknowledged: number, run_id = 1): ServerMessage => ({
  event: 'progress',
  data: JSON.stringify({ checkpoint, acknowledged, run_id, checkpoint_id: checkpoint, trigger: 'periodic', triggered_at: '', subtasks: 8, progress: [] } satisfies Progress),
});
const run = (id: number, ended_at: string | null = null): ServerMessage => ({ event: 'run', data: JSON.stringify({ id, ended_at }) });
const hear = (job: JobLive, ...messages: ServerMessage[]): JobLive => nextJob(job, { type: 'messages', nowMs: 1, messages });
const numbers = ({ events }: JobLive): number[] => events.map(({ number }) => number);

describe('what is known of a job', () => {
  it('grows by its events, each once', () => {
    const job = hear(hear(unknownJob(0), event(4), event(5)), event(5), event(6));
    expect(numbers(job)).toEqual([4, 5, 6]);
    expect(job.eventNumber).toBe(6);
  });

  it('keeps the newest events only', () => {
    const all = Array.from({ length: EVENTS_MAX + 20 }, (_, at) => event(at + 1));
    const job = hear(unknownJob(0), ...all);
    expect(job.events).toHaveLength(EVENTS_MAX);
    expect(numbers(job).at(-1)).toBe(EVENTS_MAX + 20);
  });

  it('forgets what did not happen when the database was set back', () => {
    expect(numbers(hear(unknownJob(0), event(4), event(7), event(9), event(5)))).toEqual([4, 5]);
  });

  it('follows a checkpoint until the log says what became of it', () => {
    const running = hear(unknownJob(0), progress(12, 1), progress(12, 5));
    expect(inProgress(running)).toMatchObject({ checkpoint: 12, acknowledged: 5 });
    const completed = hear(running, event(9, 'CheckpointCompleted', { checkpoint: 12 }));
    expect(inProgress(completed)).toBeNull();
    expect(completed).toMatchObject({ progress: { checkpoint: 12 }, ended: { checkpoint: 12, how: 'completed' } });
    expect(inProgress(hear(completed, progress(13, 0)))).toMatchObject({ checkpoint: 13 });
  });

  it('says why a checkpoint failed', () => {
    expect(hear(unknownJob(0), progress(3, 1), event(1, 'CheckpointFailed', { checkpoint: 3, reason: 'declined' })).ended).toEqual({ checkpoint: 3, how: 'failed', reason: 'declined' });
  });

  it('takes a checkpoint for failed when the run that took it is over, or another one is there', () => {
    const job = hear(unknownJob(0), run(1), progress(12, 3));
    expect(inProgress(hear(job, run(1)))).toMatchObject({ checkpoint: 12 });
    for (const over of [run(1, '2026-11-22T20:00:00Z'), run(2)]) {
      const left = hear(job, over);
      expect(inProgress(left)).toBeNull();
      expect(left.ended).toEqual({ checkpoint: 12, how: 'failed', reason: 'its run is over' });
    }
    const done = hear(job, event(9, 'CheckpointCompleted', { checkpoint: 12 }), run(2));
    expect(done.ended?.how).toBe('completed');
  });

  it('does not go back to an older checkpoint of the same run, but to that of another', () => {
    const job = hear(unknownJob(0), progress(12, 1));
    expect(hear(job, progress(11, 8)).progress?.checkpoint).toBe(12);
    expect(hear(job, progress(2, 8, 2)).progress?.checkpoint).toBe(2);
  });

  it('passes over what a newer backend tells', () => {
    expect(hear(unknownJob(0), { event: 'moon', data: 'no JSON' }, event(1)).eventNumber).toBe(1);
  });
});
