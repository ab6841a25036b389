import { describe, expect, it } from 'vitest';

import type { JobLive } from '../../../../live/jobLive';
import { reduceLiveWavefront, initialLiveWavefront, type LiveWavefront } from './liveWavefront';
import { buildTopology } from './topology';
import { chainSteps } from './wavefront';

const topology = buildTopology({
  chains: [{ index: 0, operators: [], parallelism: 2 }, { index: 1, operators: [], parallelism: 2 }],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: [], feedback: false }],
});
const TRIGGERED = 1_800_000_000_000;
type Stream = Pick<JobLive, 'progress' | 'outcome' | 'events'>;

const progress = (checkpoint: number, vector: number[][], run_id = 4): Stream['progress'] => ({
  checkpoint, checkpoint_id: 100 + checkpoint, run_id, trigger: 'periodic', triggered_at: new Date(TRIGGERED).toISOString(), subtasks: 4, acknowledged: vector.length, progress: vector,
});
const report = (live: LiveWavefront, job: Partial<Stream>, nowMs: number): LiveWavefront => reduceLiveWavefront(live, { type: 'stream', job: { progress: null, outcome: null, events: [], ...job }, nowMs });
const steps = ({ wave }: LiveWavefront): string[] => [0, 1].map((chain) => chainSteps(wave!, chain));
const completed = (checkpoint: number, end_to_end_ms: number): Partial<Stream> => ({
  outcome: { checkpoint, result: 'completed', reason: '' },
  events: [{ id: 1, job_id: 1, run_id: 4, run_event: 1, number: 1, kind: 'CheckpointCompleted', fields: { checkpoint, end_to_end_ms, trigger: 'periodic' }, at: '', received_at: '' }],
});

describe('the live wavefront', () => {
  it('the wavefront advances with reported progress, and stays the same object without new progress', () => {
    const started = report(initialLiveWavefront(topology), { progress: progress(7, []) }, TRIGGERED + 10);
    expect(steps(started)).toEqual(['00', '00']);
    const grown = report(started, { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    expect(steps(grown)).toEqual(['03', '11']);
    expect(report(grown, { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40)).toBe(grown);
  });

  it('the next checkpoint starts a new wavefront, and late progress of an older checkpoint is ignored', () => {
    const before = report(initialLiveWavefront(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    expect(steps(report(before, { progress: progress(8, []) }, TRIGGERED + 50))).toEqual(['00', '00']);
    expect(report(before, { progress: progress(6, []) }, TRIGGERED + 50)).toBe(before);
    expect(report(before, { progress: progress(9, [], 5) }, TRIGGERED + 50).checkpoint).toMatchObject({ number: 9, runId: 5 });
  });

  it('shows a completed checkpoint with the duration that the driver reports', () => {
    const before = report(initialLiveWavefront(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    const after = report(before, { progress: progress(7, [[0, 1, 22]]), ...completed(7, 84) }, TRIGGERED + 95);
    expect(steps(after)).toEqual(['33', '33']);
    expect(after).toMatchObject({ tookMs: 84, wave: { end: 'completed' } });
  });

  it('shows a checkpoint that ended before any progress was reported', () => {
    const after = report(initialLiveWavefront(topology), completed(9, 31), TRIGGERED);
    expect(after).toMatchObject({ checkpoint: { number: 9, trigger: 'periodic' }, tookMs: 31, wave: { end: 'completed', acknowledged: 4 } });
  });

  it('only a newer checkpoint replaces a checkpoint that has ended', () => {
    const over = report(initialLiveWavefront(topology), completed(9, 31), TRIGGERED);
    expect(report(over, { progress: progress(8, [[0, 0, 3]]), ...completed(9, 31) }, TRIGGERED).checkpoint?.number).toBe(9);
    const next = report(over, { progress: progress(10, [[0, 0, 3]]), ...completed(9, 31) }, TRIGGERED + 9);
    expect(next).toMatchObject({ checkpoint: { number: 10 }, tookMs: null, wave: { end: null } });
  });

  it('keeps the steps and the failure reason of a failed checkpoint', () => {
    const before = report(initialLiveWavefront(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    const after = report(before, { progress: progress(7, [[0, 1, 22]]), outcome: { checkpoint: 7, result: 'failed', reason: 'timed out' } }, TRIGGERED + 50);
    expect(after).toMatchObject({ reason: 'timed out', wave: { end: 'failed', acknowledged: 1 } });
  });

  it('derives the time of the trigger from reported progress if clocks differ slightly', () => {
    const ahead = report(initialLiveWavefront(topology), { progress: progress(7, [[0, 1, 300]]) }, TRIGGERED - 900);
    expect(ahead.wave!.atMs).toBe(300);
    expect(reduceLiveWavefront(ahead, { type: 'clock', nowMs: TRIGGERED - 800 }).wave!.atMs).toBe(400);
  });

  it('shows the real age of a checkpoint that was triggered long before the page was opened', () => {
    expect(report(initialLiveWavefront(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 90_000).wave!.atMs).toBe(90_000);
  });

  it('the wavefront does not advance after the end of the checkpoint', () => {
    const over = report(initialLiveWavefront(topology), completed(9, 31), TRIGGERED);
    expect(reduceLiveWavefront(over, { type: 'clock', nowMs: TRIGGERED + 5_000 })).toBe(over);
  });
});
