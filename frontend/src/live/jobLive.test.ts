import { describe, expect, it } from 'vitest';

import { EVENTS_MAX, inProgress, reduceJob, initialJob, type JobEvent, type JobLive, type Progress } from './jobLive';
import type { ServerMessage } from './sseParser';

const event = (number: number, kind = 'RunStateChanged', fields: JobEvent['fields'] = {}): ServerMessage => ({
  event: 'event',
  data: JSON.stringify({ id: number, job_id: 1, number, run_id: 1, run_event: number, kind, fields, at: '', received_at: '' }),
});
const progress = (checkpoint: number, acknowledged: number, run_id = 1): ServerMessage => ({
  event: 'progress',
  data: JSON.stringify({ checkpoint, acknowledged, run_id, checkpoint_id: checkpoint, trigger: 'periodic', triggered_at: '', subtasks: 8, progress: [] } satisfies Progress),
});
const run = (id: number, ended_at: string | null = null): ServerMessage => ({ event: 'run', data: JSON.stringify({ id, ended_at }) });
const receive = (job: JobLive, ...messages: ServerMessage[]): JobLive => reduceJob(job, { type: 'messages', nowMs: 1, messages });
const numbers = ({ events }: JobLive): number[] => events.map(({ number }) => number);

describe('the live state of a job', () => {
  it('the live state contains each event once', () => {
    const job = receive(receive(initialJob(0), event(4), event(5)), event(5), event(6));
    expect(numbers(job)).toEqual([4, 5, 6]);
    expect(job.lastEventNumber).toBe(6);
  });

  it('keeps only the newest events', () => {
    const all = Array.from({ length: EVENTS_MAX + 20 }, (_, at) => event(at + 1));
    const job = receive(initialJob(0), ...all);
    expect(job.events).toHaveLength(EVENTS_MAX);
    expect(numbers(job).at(-1)).toBe(EVENTS_MAX + 20);
  });

  it('drops events with higher numbers when a lower number follows, as after the restore of a database backup', () => {
    expect(numbers(receive(initialJob(0), event(4), event(7), event(9), event(5)))).toEqual([4, 5]);
  });

  it('the live state contains a checkpoint in progress until an event reports the end of the checkpoint', () => {
    const running = receive(initialJob(0), progress(12, 1), progress(12, 5));
    expect(inProgress(running)).toMatchObject({ checkpoint: 12, acknowledged: 5 });
    const completed = receive(running, event(9, 'CheckpointCompleted', { checkpoint: 12 }));
    expect(inProgress(completed)).toBeNull();
    expect(completed).toMatchObject({ progress: { checkpoint: 12 }, outcome: { checkpoint: 12, result: 'completed' } });
    expect(inProgress(receive(completed, progress(13, 0)))).toMatchObject({ checkpoint: 13 });
  });

  it('the outcome contains the reason why a checkpoint failed', () => {
    expect(receive(initialJob(0), progress(3, 1), event(1, 'CheckpointFailed', { checkpoint: 3, reason: 'declined' })).outcome).toEqual({ checkpoint: 3, result: 'failed', reason: 'declined' });
  });

  it('marks a checkpoint as failed when its run has ended or another run has started', () => {
    const job = receive(initialJob(0), run(1), progress(12, 3));
    expect(inProgress(receive(job, run(1)))).toMatchObject({ checkpoint: 12 });
    for (const over of [run(1, '2026-11-22T20:00:00Z'), run(2)]) {
      const left = receive(job, over);
      expect(inProgress(left)).toBeNull();
      expect(left.outcome).toEqual({ checkpoint: 12, result: 'failed', reason: 'its run has ended' });
    }
    const done = receive(job, event(9, 'CheckpointCompleted', { checkpoint: 12 }), run(2));
    expect(done.outcome?.result).toBe('completed');
  });

  it('ignores progress of an older checkpoint of the same run, but not of another run', () => {
    const job = receive(initialJob(0), progress(12, 1));
    expect(receive(job, progress(11, 8)).progress?.checkpoint).toBe(12);
    expect(receive(job, progress(2, 8, 2)).progress?.checkpoint).toBe(2);
  });

  it('ignores unknown messages that a newer backend sends', () => {
    expect(receive(initialJob(0), { event: 'moon', data: 'no JSON' }, event(1)).lastEventNumber).toBe(1);
  });
});
