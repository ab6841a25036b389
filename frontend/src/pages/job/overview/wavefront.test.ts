import { describe, expect, it } from 'vitest';

import type { Edge } from './graph';
import { heldOf, holderOf } from './holder';
import { placeOf, subtaskOf, topologyOf } from './topology';
import { ACKNOWLEDGED, ALIGNING, beginWave, nextWave, SNAPSHOTTED, stepsOf, WAITING, type Fact, type Wave } from './wavefront';

const edge = (index: number, source: number, target: number, partitioning: string, feedback = false): Edge => ({ index, source, target, partitioning, key: [], feedback });
const chain = (index: number, parallelism: number) => ({ index, parallelism, operators: [] });

/** Two sources, a join of both, and a sink behind it. */
const EDGES = [edge(0, 0, 2, 'hash'), edge(1, 1, 2, 'hash'), edge(2, 2, 3, 'forward')];
const topology = topologyOf({ chains: [chain(0, 2), chain(1, 1), chain(2, 2), chain(3, 2)], edges: EDGES });
const of = (at: number, index: number): number => subtaskOf(topology, at, index)!;

const facts = (wave: Wave, ...told: [at: number, index: number, step: number, atMs: number][]): Wave =>
  nextWave(wave, {
    type: 'facts', atMs: Math.max(...told.map(([, , , atMs]) => atMs)),
    facts: told.map(([at, index, step, atMs]): Fact => ({ subtask: of(at, index), step, atMs })),
  });
const live = (...acknowledged: [at: number, index: number, atMs: number][]): Wave =>
  facts(beginWave(topology, { exact: false }), ...acknowledged.map(([at, index, atMs]): [number, number, number, number] => [at, index, ACKNOWLEDGED, atMs]));
const all = (wave: Wave): string[] => topology.chains.map(({ index }) => stepsOf(wave, index));

describe('subtasks', () => {
  it('are numbered chain after chain, and found by their number', () => {
    expect(topology.count).toBe(7);
    expect(placeOf(topology, of(2, 1))).toEqual({ chain: 2, index: 1 });
    expect(subtaskOf(topology, 2, 2)).toBeNull();
    expect(subtaskOf(topology, 9, 0)).toBeNull();
  });
});

describe('the wavefront', () => {
  it('begins with everybody waiting', () => {
    expect(all(beginWave(topology, { exact: false }))).toEqual(['00', '0', '00', '00']);
  });

  it('infers that those behind a source that acknowledged have a barrier on its way', () => {
    expect(all(live([0, 0, 5]))).toEqual(['30', '0', '11', '00']);
  });

  it('infers that the barrier has passed all who stand before one that acknowledged', () => {
    const wave = live([3, 1, 40]);
    expect(all(wave)).toEqual(['22', '2', '12', '03']);
    expect(wave.acknowledged).toBe(1);
  });

  it('infers nothing where all was measured', () => {
    expect(all(facts(beginWave(topology, { exact: true }), [3, 1, SNAPSHOTTED, 40]))).toEqual(['00', '0', '00', '02']);
  });

  it.each([WAITING, ALIGNING, SNAPSHOTTED, ACKNOWLEDGED])('never goes back to %d from what comes after it', (step) => {
    const before = facts(beginWave(topology, { exact: true }), [0, 0, ACKNOWLEDGED, 5]);
    const after = facts(before, [0, 0, step, 9]);
    expect(all(after)).toEqual(all(before));
    expect(after.acknowledged).toBe(1);
    expect(after.sinceMs[of(0, 0)]).toBe(5);
  });

  it('counts an acknowledgement once, however often it is told', () => {
    expect(live([0, 0, 5], [0, 0, 5], [0, 0, 6]).acknowledged).toBe(1);
  });

  it('leaves what was shown as it was: another state is another object', () => {
    const before = live([0, 0, 5]);
    const digits = all(before);
    const after = facts(before, [0, 1, ACKNOWLEDGED, 9]);
    expect(all(before)).toEqual(digits);
    expect(after).not.toBe(before);
  });

  it('is the same object when nothing has changed', () => {
    const wave = live([0, 0, 5]);
    expect(nextWave(wave, { type: 'clock', atMs: 5 })).toBe(wave);
    expect(nextWave(wave, { type: 'facts', facts: [], atMs: 2 })).toBe(wave);
    expect(nextWave(wave, { type: 'clock', atMs: 6 }).steps).toBe(wave.steps);
  });

  it('ends with everybody acknowledged when it is completed, and as it stands when it failed', () => {
    const wave = live([0, 0, 5]);
    const completed = nextWave(wave, { type: 'end', how: 'completed', atMs: 30 });
    expect(all(completed)).toEqual(['33', '3', '33', '33']);
    expect(completed.acknowledged).toBe(7);
    const failed = nextWave(wave, { type: 'end', how: 'failed', atMs: 30 });
    expect(all(failed)).toEqual(all(wave));
    expect(nextWave(failed, { type: 'end', how: 'completed', atMs: 31 })).toBe(failed);
  });

  it('waits for nothing that is fed back', () => {
    const loop = topologyOf({ chains: [chain(0, 1), chain(1, 1)], edges: [edge(0, 0, 1, 'forward'), edge(1, 1, 0, 'hash', true)] });
    const wave = nextWave(beginWave(loop, { exact: false }), { type: 'facts', atMs: 1, facts: [{ subtask: 0, step: ACKNOWLEDGED, atMs: 1 }] });
    expect([stepsOf(wave, 0), stepsOf(wave, 1)]).toEqual(['3', '1']);
  });
});

describe('channels that a barrier holds up', () => {
  const held = (wave: Wave): [blocked: number, underWay: number][] => EDGES.map((one) => [heldOf(wave, one).blocked, heldOf(wave, one).underWay]);
  const none = [0, 0];

  it('are blocked if it was sent over them to who still waits for the barriers of others', () => {
    const wave = live([0, 0, 5]);
    expect(held(wave)).toEqual([[2, 0], none, none]);
    expect(held(facts(wave, [0, 1, ACKNOWLEDGED, 6]))).toEqual([[4, 0], none, none]);
  });

  it('have it under way where all have sent theirs, and it is not through: it may be queued behind records', () => {
    const wave = live([0, 0, 5], [0, 1, 6], [1, 0, 7]);
    expect(held(wave)).toEqual([[0, 4], [0, 2], none]);
    expect(held(facts(wave, [2, 0, ACKNOWLEDGED, 8]))).toEqual([[0, 2], [0, 1], [0, 1]]);
  });

  it('are free again when it is through, and when the checkpoint is over', () => {
    const sources = live([0, 0, 5], [0, 1, 6], [1, 0, 7]);
    expect(held(facts(sources, [2, 0, ACKNOWLEDGED, 8], [2, 1, ACKNOWLEDGED, 8])).slice(0, 2)).toEqual([none, none]);
    for (const how of ['failed', 'completed'] as const) expect(held(nextWave(sources, { type: 'end', how, atMs: 9 }))).toEqual([none, none, none]);
  });

  it('are none of those that feed back', () => {
    expect(heldOf(live([0, 0, 5]), { ...EDGES[0]!, feedback: true })).toEqual({ blocked: 0, underWay: 0 });
  });
});

describe('who holds it', () => {
  it('is not known before anybody has acknowledged', () => {
    expect(holderOf(nextWave(beginWave(topology, { exact: false }), { type: 'clock', atMs: 12 }))).toEqual({ is: 'unknown' });
  });

  it('is the source for which all others wait, since the trigger', () => {
    expect(holderOf(nextWave(live([0, 0, 5], [0, 1, 6]), { type: 'clock', atMs: 50 }))).toEqual({ is: 'passing', subtask: of(1, 0), inputs: [], awaiting: 2, forMs: 50 });
  });

  it('is who has been sent all barriers for longest, with those who sent them', () => {
    const wave = live([0, 0, 5], [0, 1, 9], [1, 0, 7], [2, 0, 20], [3, 0, 22]);
    expect(holderOf(nextWave(wave, { type: 'clock', atMs: 50 }))).toEqual({
      is: 'passing', subtask: of(2, 1), inputs: [of(0, 0), of(0, 1), of(1, 0)], awaiting: 0, forMs: 41,
    });
  });

  it('is who has been writing for longest when the barrier is through', () => {
    const passed = facts(beginWave(topology, { exact: true }), ...topology.chains.flatMap(({ index, parallelism }) =>
      Array.from({ length: parallelism }, (_, at): [number, number, number, number] => [index, at, SNAPSHOTTED, 10 * index + at])));
    const wave = facts(passed, [0, 0, ACKNOWLEDGED, 40], [0, 1, ACKNOWLEDGED, 40], [1, 0, ACKNOWLEDGED, 40]);
    expect(holderOf(wave)).toEqual({ is: 'writing', subtask: of(2, 0), others: 3, forMs: 20 });
  });

  it('is the coordinator when all have acknowledged, and nobody when it is over', () => {
    const done = live(...topology.chains.flatMap(({ index, parallelism }) => Array.from({ length: parallelism }, (_, at): [number, number, number] => [index, at, 30])));
    expect(holderOf(nextWave(done, { type: 'clock', atMs: 34 }))).toEqual({ is: 'closing', forMs: 4 });
    expect(holderOf(nextWave(done, { type: 'end', how: 'completed', atMs: 35 }))).toBeNull();
  });
});
