import { describe, expect, it } from 'vitest';

import { detailOf, measuredBy } from '../../../fake/checkpointing';
import { Luck } from '../../../fake/luck';
import { SCENES } from '../../../fake/scenes';
import { World } from '../../../fake/world';
import { graphOf } from './graph';
import { beginReplay, nextReplay } from './replay';
import { scriptOf, waveAt, type Script } from './script';
import { eachNeighbour, topologyOf } from './topology';
import { ACKNOWLEDGED, ALIGNING, SNAPSHOTTED } from './wavefront';

const scene = SCENES[0]!;
const topology = topologyOf(graphOf(scene.graph as unknown as Record<string, unknown>));
const world = new World(1_800_000_000_000);
const bodyOf = (state: string) => world.jobs[0]!.checkpoints.find(({ body }) => body.state === state)!.body;
const measured = measuredBy(scene.graph, scene.stateBytes, 90, new Luck(3));
const completed = { ...detailOf(bodyOf('COMPLETED'), scene.graph, measured), end_to_end_ms: measured.at(-1)!.afterMs + 4 };
const failed = detailOf(bodyOf('FAILED'), scene.graph, measured.slice(0, 5));

const moment = ({ facts }: Script, subtask: number, step: number): number => facts.find((one) => one.subtask === subtask && one.step === step)?.atMs ?? 0;

describe('the script of a completed checkpoint', () => {
  const script = scriptOf(completed, topology)!;

  it('has each step of each subtask once, in the order of their moments', () => {
    const sources = topology.chains.filter(({ inputs }) => inputs.length === 0).reduce((count, { parallelism }) => count + parallelism, 0);
    expect(script.facts).toHaveLength(3 * topology.count - sources);
    expect(script.facts.map(({ atMs }) => atMs)).toEqual(script.facts.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    expect(script).toMatchObject({ exact: true, end: 'completed', durationMs: completed.end_to_end_ms });
  });

  it('lets no subtask pass the barrier before those who send to it, nor align for less than it measured', () => {
    for (const { chain, index, alignmentMs, afterMs } of measured) {
      const subtask = topology.chains[topology.at.get(chain)!]!.first + index;
      const passedMs = moment(script, subtask, SNAPSHOTTED);
      expect(moment(script, subtask, ACKNOWLEDGED)).toBe(afterMs);
      expect(passedMs).toBeLessThanOrEqual(afterMs);
      // The invented installation lets some acknowledge before a barrier can have come to them: there the acknowledgement counts.
      if (passedMs < afterMs) {
        expect(passedMs - moment(script, subtask, ALIGNING)).toBeGreaterThanOrEqual(alignmentMs - 1e-6);
        eachNeighbour(topology, subtask, 'inputs', (other) => expect(moment(script, other, SNAPSHOTTED)).toBeLessThanOrEqual(passedMs));
      }
    }
  });

  it('plays to the same end, whatever the frames are', () => {
    let wave = waveAt(script, 0, null);
    for (let atMs = 0; atMs < script.durationMs; atMs += 7) {
      wave = waveAt(script, atMs, wave);
      expect([...wave.steps]).toEqual([...waveAt(script, atMs, null).steps]);
    }
    wave = waveAt(script, script.durationMs, wave);
    expect(wave).toMatchObject({ end: 'completed', acknowledged: topology.count });
  });

  it('can be turned back', () => {
    const late = waveAt(script, script.durationMs - 1, null);
    const early = waveAt(script, script.durationMs / 3, late);
    expect([...early.steps]).toEqual([...waveAt(script, script.durationMs / 3, null).steps]);
    expect(early.acknowledged).toBeLessThan(late.acknowledged);
  });
});

describe('the script of a failed checkpoint', () => {
  it('has what was acknowledged, leaves the rest to be inferred, and ends as it failed', () => {
    const script = scriptOf(failed, topology)!;
    expect(script).toMatchObject({ exact: false, end: 'failed' });
    expect(script.facts.map(({ step }) => step)).toEqual([3, 3, 3, 3, 3]);
    const last = waveAt(script, script.durationMs, null);
    expect(last.end).toBe('failed');
    expect(last.acknowledged).toBe(5);
  });

  it('is none if nobody acknowledged', () => {
    expect(scriptOf({ ...failed, progress: [] }, topology)).toBeNull();
  });

  it('passes over subtasks that the graph does not have', () => {
    expect(scriptOf({ ...failed, progress: [[99, 0, 3], [0, 1, 7]] }, topology)!.facts).toHaveLength(1);
  });
});

describe('a replay', () => {
  const script = scriptOf(completed, topology)!;

  it('moves its barriers with its position only', () => {
    const begun = beginReplay(script);
    const paused = nextReplay(begun, { type: 'pause' });
    expect(paused.wave).toBe(begun.wave);
    expect(nextReplay(paused, { type: 'frame', passedMs: 16 })).toBe(paused);
    const sought = nextReplay(paused, { type: 'seek', toMs: script.durationMs });
    expect(sought.wave.end).toBe('completed');
    expect(nextReplay(sought, { type: 'play' }).wave.end).toBeNull();
  });
});
