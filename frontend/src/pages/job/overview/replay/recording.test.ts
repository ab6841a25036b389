import { describe, expect, it } from 'vitest';

import { checkpointDetail, simulateSnapshots } from '../../../../fake/checkpoints';
import { Random } from '../../../../fake/random';
import { JOB_TEMPLATES } from '../../../../fake/jobTemplates';
import { Installation } from '../../../../fake/installation';
import { parseGraph } from '../../physicalGraph';
import { buildTopology, forEachNeighbour } from '../wavefront/topology';
import { ACKNOWLEDGED, ALIGNING, SNAPSHOTTED } from '../wavefront/wavefront';
import { initialReplay, reduceReplay } from './playback';
import { buildRecording, wavefrontAt, type Recording } from './recording';

const template = JOB_TEMPLATES[0]!;
const topology = buildTopology(parseGraph(template.graph as unknown as Record<string, unknown>));
const installation = new Installation(1_800_000_000_000);
const bodyOf = (state: string) => installation.jobs[0]!.checkpoints.find(({ body }) => body.state === state)!.body;
const measured = simulateSnapshots(template.graph, template.stateBytes, 90, new Random(3));
const completed = { ...checkpointDetail(bodyOf('COMPLETED'), template.graph, measured), end_to_end_ms: measured.at(-1)!.afterMs + 4 };
const failed = checkpointDetail(bodyOf('FAILED'), template.graph, measured.slice(0, 5));

const moment = ({ facts }: Recording, subtask: number, step: number): number => facts.find((one) => one.subtask === subtask && one.step === step)?.atMs ?? 0;

describe('the recording of a completed checkpoint', () => {
  const recording = buildRecording(completed, topology)!;

  it('the recording contains each step of each subtask once, ordered by time', () => {
    const sources = topology.chains.filter(({ inputs }) => inputs.length === 0).reduce((count, { parallelism }) => count + parallelism, 0);
    expect(recording.facts).toHaveLength(3 * topology.count - sources);
    expect(recording.facts.map(({ atMs }) => atMs)).toEqual(recording.facts.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    expect(recording).toMatchObject({ exact: true, end: 'completed', durationMs: completed.end_to_end_ms });
  });

  it('each subtask takes its snapshot after its upstream subtasks, and aligns for at least the measured time', () => {
    for (const { chain, index, alignmentMs, afterMs } of measured) {
      const subtask = topology.chains[topology.at.get(chain)!]!.first + index;
      const passedMs = moment(recording, subtask, SNAPSHOTTED);
      expect(moment(recording, subtask, ACKNOWLEDGED)).toBe(afterMs);
      expect(passedMs).toBeLessThanOrEqual(afterMs);
      // In the fake backend, a subtask can acknowledge before its barrier arrives. If a subtask acknowledged before its barrier arrived, the
      // recording assumes that the barrier passed the subtask at the time of the acknowledgement.
      if (passedMs < afterMs) {
        expect(passedMs - moment(recording, subtask, ALIGNING)).toBeGreaterThanOrEqual(alignmentMs - 1e-6);
        forEachNeighbour(topology, subtask, 'inputs', (other) => expect(moment(recording, other, SNAPSHOTTED)).toBeLessThanOrEqual(passedMs));
      }
    }
  });

  it('the wavefront at a given time does not depend on the frames that were shown before', () => {
    let wave = wavefrontAt(recording, 0, null);
    for (let atMs = 0; atMs < recording.durationMs; atMs += 7) {
      wave = wavefrontAt(recording, atMs, wave);
      expect([...wave.steps]).toEqual([...wavefrontAt(recording, atMs, null).steps]);
    }
    wave = wavefrontAt(recording, recording.durationMs, wave);
    expect(wave).toMatchObject({ end: 'completed', acknowledged: topology.count });
  });

  it('a replay can seek backwards', () => {
    const late = wavefrontAt(recording, recording.durationMs - 1, null);
    const early = wavefrontAt(recording, recording.durationMs / 3, late);
    expect([...early.steps]).toEqual([...wavefrontAt(recording, recording.durationMs / 3, null).steps]);
    expect(early.acknowledged).toBeLessThan(late.acknowledged);
  });
});

describe('the recording of a failed checkpoint', () => {
  it('the recording of a failed checkpoint contains only acknowledgements, is not exact, and ends with the failure', () => {
    const recording = buildRecording(failed, topology)!;
    expect(recording).toMatchObject({ exact: false, end: 'failed' });
    expect(recording.facts.map(({ step }) => step)).toEqual([3, 3, 3, 3, 3]);
    const last = wavefrontAt(recording, recording.durationMs, null);
    expect(last.end).toBe('failed');
    expect(last.acknowledged).toBe(5);
  });

  it('the recording is null if no subtask acknowledged the checkpoint', () => {
    expect(buildRecording({ ...failed, progress: [] }, topology)).toBeNull();
  });

  it('the recording ignores subtasks that the graph does not contain', () => {
    expect(buildRecording({ ...failed, progress: [[99, 0, 3], [0, 1, 7]] }, topology)!.facts).toHaveLength(1);
  });
});

describe('a replay', () => {
  const recording = buildRecording(completed, topology)!;

  it('a replay changes its wavefront only when its position changes', () => {
    const started = initialReplay(recording);
    const paused = reduceReplay(started, { type: 'pause' });
    expect(paused.wave).toBe(started.wave);
    expect(reduceReplay(paused, { type: 'frame', passedMs: 16 })).toBe(paused);
    const sought = reduceReplay(paused, { type: 'seek', toMs: recording.durationMs });
    expect(sought.wave.end).toBe('completed');
    expect(reduceReplay(sought, { type: 'play' }).wave.end).toBeNull();
  });
});
