import { describe, expect, it } from 'vitest';

import type { JobLive } from '../../../live/jobLive';
import { nextLive, noWave, type LiveWave } from './liveWave';
import { topologyOf } from './topology';
import { stepsOf } from './wavefront';

const topology = topologyOf({
  chains: [{ index: 0, operators: [], parallelism: 2 }, { index: 1, operators: [], parallelism: 2 }],
  edges: [{ index: 0, source: 0, target: 1, partitioning: 'hash', key: [], feedback: false }],
});
const TRIGGERED = 1_800_000_000_000;
type Told = Pick<JobLive, 'progress' | 'ended' | 'events'>;

const progress = (checkpoint: number, vector: number[][], run_id = 4): Told['progress'] => ({
  checkpoint, checkpoint_id: 100 + checkpoint, run_id, trigger: 'periodic', triggered_at: new Date(TRIGGERED).toISOString(), subtasks: 4, acknowledged: vector.length, progress: vector,
});
const told = (live: LiveWave, job: Partial<Told>, nowMs: number): LiveWave => nextLive(live, { type: 'told', job: { progress: null, ended: null, events: [], ...job }, nowMs });
const steps = ({ wave }: LiveWave): string[] => [0, 1].map((chain) => stepsOf(wave!, chain));
const completed = (checkpoint: number, end_to_end_ms: number): Partial<Told> => ({
  ended: { checkpoint, how: 'completed', reason: '' },
  events: [{ id: 1, job_id: 1, run_id: 4, run_event: 1, number: 1, kind: 'CheckpointCompleted', fields: { checkpoint, end_to_end_ms, trigger: 'periodic' }, at: '', received_at: '' }],
});

describe('the live wavefront', () => {
  it('grows with what is told, and is the same object when nothing is new', () => {
    const begun = told(noWave(topology), { progress: progress(7, []) }, TRIGGERED + 10);
    expect(steps(begun)).toEqual(['00', '00']);
    const grown = told(begun, { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    expect(steps(grown)).toEqual(['03', '11']);
    expect(told(grown, { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40)).toBe(grown);
  });

  it('begins anew with another checkpoint, also if another run has gone back to older ones', () => {
    const before = told(noWave(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    expect(steps(told(before, { progress: progress(8, []) }, TRIGGERED + 50))).toEqual(['00', '00']);
    expect(told(before, { progress: progress(6, []) }, TRIGGERED + 50)).toBe(before);
    expect(told(before, { progress: progress(3, [], 5) }, TRIGGERED + 50).checkpoint).toMatchObject({ number: 3, runId: 5 });
  });

  it('is complete with its end, and says how long the driver found it took', () => {
    const before = told(noWave(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    const after = told(before, { progress: progress(7, [[0, 1, 22]]), ...completed(7, 84) }, TRIGGERED + 95);
    expect(steps(after)).toEqual(['33', '33']);
    expect(after).toMatchObject({ tookMs: 84, wave: { end: 'completed' } });
  });

  it('shows one that was over before anything of it was told', () => {
    const after = told(noWave(topology), completed(9, 31), TRIGGERED);
    expect(after).toMatchObject({ checkpoint: { number: 9, trigger: 'periodic' }, tookMs: 31, wave: { end: 'completed', acknowledged: 4 } });
  });

  it('goes on from what is over to the next, and not back', () => {
    const over = told(noWave(topology), completed(9, 31), TRIGGERED);
    expect(told(over, { progress: progress(8, [[0, 0, 3]]), ...completed(9, 31) }, TRIGGERED).checkpoint?.number).toBe(9);
    const next = told(over, { progress: progress(10, [[0, 0, 3]]), ...completed(9, 31) }, TRIGGERED + 9);
    expect(next).toMatchObject({ checkpoint: { number: 10 }, tookMs: null, wave: { end: null } });
  });

  it('says why it failed, as it stood then', () => {
    const before = told(noWave(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 40);
    const after = told(before, { progress: progress(7, [[0, 1, 22]]), ended: { checkpoint: 7, how: 'failed', reason: 'it took too long' } }, TRIGGERED + 50);
    expect(after).toMatchObject({ reason: 'it took too long', wave: { end: 'failed', acknowledged: 1 } });
  });

  it('counts time by what was heard where the clocks of driver and browser are a little apart', () => {
    const ahead = told(noWave(topology), { progress: progress(7, [[0, 1, 300]]) }, TRIGGERED - 900);
    expect(ahead.wave!.atMs).toBe(300);
    expect(nextLive(ahead, { type: 'clock', nowMs: TRIGGERED - 800 }).wave!.atMs).toBe(400);
  });

  it('knows how old one is that has hung for long when the page is opened', () => {
    expect(told(noWave(topology), { progress: progress(7, [[0, 1, 22]]) }, TRIGGERED + 90_000).wave!.atMs).toBe(90_000);
  });

  it('lets no time pass for what is over', () => {
    const over = told(noWave(topology), completed(9, 31), TRIGGERED);
    expect(nextLive(over, { type: 'clock', nowMs: TRIGGERED + 5_000 })).toBe(over);
  });
});
