import { describe, expect, it } from 'vitest';

import type { Edge } from '../../physicalGraph';
import { blockedChannels, findBlocker } from './blockingSubtask';
import { subtaskPosition, subtaskNumber, buildTopology } from './topology';
import { ACKNOWLEDGED, ALIGNING, initialWavefront, reduceWavefront, SNAPSHOTTED, chainSteps, WAITING, type StepChange, type Wavefront } from './wavefront';

const edge = (index: number, source: number, target: number, partitioning: string, feedback = false): Edge => ({ index, source, target, partitioning, key: [], feedback });
const chain = (index: number, parallelism: number) => ({ index, parallelism, operators: [] });

/** Two sources, an operator that reads both, and a sink. */
const EDGES = [edge(0, 0, 2, 'hash'), edge(1, 1, 2, 'hash'), edge(2, 2, 3, 'forward')];
const topology = buildTopology({ chains: [chain(0, 2), chain(1, 1), chain(2, 2), chain(3, 2)], edges: EDGES });
const of = (at: number, index: number): number => subtaskNumber(topology, at, index)!;

const facts = (wave: Wavefront, ...changes: [at: number, index: number, step: number, atMs: number][]): Wavefront =>
  reduceWavefront(wave, {
    type: 'facts', atMs: Math.max(...changes.map(([, , , atMs]) => atMs)),
    facts: changes.map(([at, index, step, atMs]): StepChange => ({ subtask: of(at, index), step, atMs })),
  });
const live = (...acknowledged: [at: number, index: number, atMs: number][]): Wavefront =>
  facts(initialWavefront(topology, { exact: false }), ...acknowledged.map(([at, index, atMs]): [number, number, number, number] => [at, index, ACKNOWLEDGED, atMs]));
const all = (wave: Wavefront): string[] => topology.chains.map(({ index }) => chainSteps(wave, index));

describe('subtasks', () => {
  it('subtasks are numbered consecutively, chain by chain', () => {
    expect(topology.count).toBe(7);
    expect(subtaskPosition(topology, of(2, 1))).toEqual({ chain: 2, index: 1 });
    expect(subtaskNumber(topology, 2, 2)).toBeNull();
    expect(subtaskNumber(topology, 9, 0)).toBeNull();
  });
});

describe('the wavefront', () => {
  it('all subtasks are waiting at the start', () => {
    expect(all(initialWavefront(topology, { exact: false }))).toEqual(['00', '0', '00', '00']);
  });

  it('after a source has acknowledged, its downstream subtasks are aligning', () => {
    expect(all(live([0, 0, 5]))).toEqual(['30', '0', '11', '00']);
  });

  it('if a subtask has acknowledged, the barrier has passed all upstream subtasks of this subtask', () => {
    const wave = live([3, 1, 40]);
    expect(all(wave)).toEqual(['22', '2', '12', '03']);
    expect(wave.acknowledged).toBe(1);
  });

  it('infers no steps if the wavefront is exact', () => {
    expect(all(facts(initialWavefront(topology, { exact: true }), [3, 1, SNAPSHOTTED, 40]))).toEqual(['00', '0', '00', '02']);
  });

  it.each([WAITING, ALIGNING, SNAPSHOTTED, ACKNOWLEDGED])('an acknowledged subtask does not return to step %d', (step) => {
    const before = facts(initialWavefront(topology, { exact: true }), [0, 0, ACKNOWLEDGED, 5]);
    const after = facts(before, [0, 0, step, 9]);
    expect(all(after)).toEqual(all(before));
    expect(after.acknowledged).toBe(1);
    expect(after.sinceMs[of(0, 0)]).toBe(5);
  });

  it('counts an acknowledgement only once if it is reported several times', () => {
    expect(live([0, 0, 5], [0, 0, 5], [0, 0, 6]).acknowledged).toBe(1);
  });

  it('does not mutate the previous wavefront', () => {
    const before = live([0, 0, 5]);
    const digits = all(before);
    const after = facts(before, [0, 1, ACKNOWLEDGED, 9]);
    expect(all(before)).toEqual(digits);
    expect(after).not.toBe(before);
  });

  it('returns the same object if nothing changes', () => {
    const wave = live([0, 0, 5]);
    expect(reduceWavefront(wave, { type: 'clock', atMs: 5 })).toBe(wave);
    expect(reduceWavefront(wave, { type: 'facts', facts: [], atMs: 2 })).toBe(wave);
    expect(reduceWavefront(wave, { type: 'clock', atMs: 6 }).steps).toBe(wave.steps);
  });

  it('a completed checkpoint ends with all subtasks acknowledged, and a failed checkpoint keeps its steps', () => {
    const wave = live([0, 0, 5]);
    const completed = reduceWavefront(wave, { type: 'end', outcome: 'completed', atMs: 30 });
    expect(all(completed)).toEqual(['33', '3', '33', '33']);
    expect(completed.acknowledged).toBe(7);
    const failed = reduceWavefront(wave, { type: 'end', outcome: 'failed', atMs: 30 });
    expect(all(failed)).toEqual(all(wave));
    expect(reduceWavefront(failed, { type: 'end', outcome: 'completed', atMs: 31 })).toBe(failed);
  });

  it('a subtask does not wait for barriers on feedback edges', () => {
    const loop = buildTopology({ chains: [chain(0, 1), chain(1, 1)], edges: [edge(0, 0, 1, 'forward'), edge(1, 1, 0, 'hash', true)] });
    const wave = reduceWavefront(initialWavefront(loop, { exact: false }), { type: 'facts', atMs: 1, facts: [{ subtask: 0, step: ACKNOWLEDGED, atMs: 1 }] });
    expect([chainSteps(wave, 0), chainSteps(wave, 1)]).toEqual(['3', '1']);
  });
});

describe('channels with a barrier', () => {
  const progressOf = (wave: Wavefront): [blocked: number, inFlight: number][] => EDGES.map((one) => [blockedChannels(wave, one).blocked, blockedChannels(wave, one).inFlight]);
  const none = [0, 0];

  it('a channel is blocked while its target subtask is waiting for other barriers', () => {
    const wave = live([0, 0, 5]);
    expect(progressOf(wave)).toEqual([[2, 0], none, none]);
    expect(progressOf(facts(wave, [0, 1, ACKNOWLEDGED, 6]))).toEqual([[4, 0], none, none]);
  });

  it('a channel has a barrier in flight if all inputs of its target have sent barriers, and the target has not taken its snapshot', () => {
    const wave = live([0, 0, 5], [0, 1, 6], [1, 0, 7]);
    expect(progressOf(wave)).toEqual([[0, 4], [0, 2], none]);
    expect(progressOf(facts(wave, [2, 0, ACKNOWLEDGED, 8]))).toEqual([[0, 2], [0, 1], [0, 1]]);
  });

  it('a channel has no barrier after its target subtask has taken its snapshot, or after the checkpoint has ended', () => {
    const sources = live([0, 0, 5], [0, 1, 6], [1, 0, 7]);
    expect(progressOf(facts(sources, [2, 0, ACKNOWLEDGED, 8], [2, 1, ACKNOWLEDGED, 8])).slice(0, 2)).toEqual([none, none]);
    for (const outcome of ['failed', 'completed'] as const) expect(progressOf(reduceWavefront(sources, { type: 'end', outcome, atMs: 9 }))).toEqual([none, none, none]);
  });

  it('channels of feedback edges have no barriers', () => {
    expect(blockedChannels(live([0, 0, 5]), { ...EDGES[0]!, feedback: true })).toEqual({ blocked: 0, inFlight: 0 });
  });
});

describe('the blocker of a checkpoint', () => {
  it('the blocker is unknown before the first acknowledgement', () => {
    expect(findBlocker(reduceWavefront(initialWavefront(topology, { exact: false }), { type: 'clock', atMs: 12 }))).toEqual({ kind: 'unknown' });
  });

  it('the blocker is a source that has not sent its barrier', () => {
    expect(findBlocker(reduceWavefront(live([0, 0, 5], [0, 1, 6]), { type: 'clock', atMs: 50 }))).toEqual({ kind: 'aligning', subtask: of(1, 0), inputs: [], awaiting: 2, forMs: 50 });
  });

  it('the blocker is the subtask that has waited longest since all its upstream subtasks sent the barrier', () => {
    const wave = live([0, 0, 5], [0, 1, 9], [1, 0, 7], [2, 0, 20], [3, 0, 22]);
    expect(findBlocker(reduceWavefront(wave, { type: 'clock', atMs: 50 }))).toEqual({
      kind: 'aligning', subtask: of(2, 1), inputs: [of(0, 0), of(0, 1), of(1, 0)], awaiting: 0, forMs: 41,
    });
  });

  it('if all subtasks have taken their snapshots, the blocker is the subtask that has been writing its state longest', () => {
    const passed = facts(initialWavefront(topology, { exact: true }), ...topology.chains.flatMap(({ index, parallelism }) =>
      Array.from({ length: parallelism }, (_, at): [number, number, number, number] => [index, at, SNAPSHOTTED, 10 * index + at])));
    const wave = facts(passed, [0, 0, ACKNOWLEDGED, 40], [0, 1, ACKNOWLEDGED, 40], [1, 0, ACKNOWLEDGED, 40]);
    expect(findBlocker(wave)).toEqual({ kind: 'snapshotting', subtask: of(2, 0), others: 3, forMs: 20 });
  });

  it('the blocker is the coordinator after all acknowledgements, and null after the end of the checkpoint', () => {
    const done = live(...topology.chains.flatMap(({ index, parallelism }) => Array.from({ length: parallelism }, (_, at): [number, number, number] => [index, at, 30])));
    expect(findBlocker(reduceWavefront(done, { type: 'clock', atMs: 34 }))).toEqual({ kind: 'completing', forMs: 4 });
    expect(findBlocker(reduceWavefront(done, { type: 'end', outcome: 'completed', atMs: 35 }))).toBeNull();
  });
});
