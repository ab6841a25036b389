import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { isEqualBar, axisPercent, axisAt, phaseSegments, tickLabel, ticks, buildTimeline } from './timeline';

type Subtask = Schemas['SubtaskStatisticsRead'];
const subtask = (index: number, tookMs: number | null, phases?: [startDelay: number, alignment: number, sync: number, async: number], straggler = false): Subtask => ({
  index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: tookMs, state_size: null, straggler, aborted: false, unaligned_checkpoint: false,
  start_delay: phases?.[0] ?? null,
  alignment: phases ? { duration: phases[1], buffered: null, processed: null, persisted: 0 } : null,
  checkpoint: phases ? { sync: phases[2], async: phases[3] } : null,
});
const graph = (...parallelisms: number[]) => parallelisms.map((parallelism, index) => ({ index, parallelism, operators: [] }));
const chain = (index: number, name: string, subtasks: Subtask[]) => ({ chain: index, operators: name ? [{ uid: name, name }] : [], subtasks });

describe('the phases of a subtask', () => {
  it('the phases of a subtask are consecutive and end with its acknowledgement', () => {
    expect(phaseSegments(subtask(0, 100, [10, 20, 5, 40]))).toEqual([
      { phase: 'start delay', fromMs: 0, toMs: 10 },
      { phase: 'alignment', fromMs: 10, toMs: 30 },
      { phase: 'sync', fromMs: 30, toMs: 35 },
      // The async phase ends 40 ms after the start of the sync phase.
      { phase: 'async', fromMs: 35, toMs: 70 },
      { phase: 'acknowledging', fromMs: 70, toMs: 100 },
    ]);
  });

  it('a phase without a duration is left out', () => {
    expect(phaseSegments(subtask(0, 9, [0, 0, 4, 9])).map(({ phase }) => phase)).toEqual(['sync', 'async']);
  });

  it('a subtask without measurements has one phase, which ends with its acknowledgement', () => {
    expect(phaseSegments(subtask(0, 12))).toEqual([{ phase: 'acknowledging', fromMs: 0, toMs: 12 }]);
    expect(phaseSegments(subtask(0, null))).toEqual([]);
  });
});

describe('a timeline', () => {
  it('lists the slowest subtask first, and names each subtask by operator and index', () => {
    const found = buildTimeline([chain(0, 'read', [subtask(0, 10), subtask(1, 40)]), chain(1, '', [subtask(0, 20)])], graph(2, 1), 'COMPLETED');
    expect(found.bars.map(({ name, tookMs }) => [name, tookMs])).toEqual([['read [1]', 40], ['chain 1 [0]', 20], ['read [0]', 10]]);
    expect(found).toMatchObject({ spanMs: 40, open: 0, measured: false });
  });

  it('marks stragglers and the straggler limit', () => {
    const found = buildTimeline([chain(0, 'read', [subtask(0, 10), subtask(1, 10), subtask(2, 10), subtask(3, 100, [0, 90, 1, 10], true)])], graph(4), 'COMPLETED');
    expect(found.bars.filter(({ straggler }) => straggler).map(({ name }) => name)).toEqual(['read [3]']);
    expect(found.limitMs).toBeCloseTo(86.5);
    expect(found.measured).toBe(true);
  });

  it('the axis extends to the latest end of all phases of all subtasks', () => {
    expect(buildTimeline([chain(0, 'read', [subtask(0, 50, [40, 20, 1, 5])])], [], 'COMPLETED').spanMs).toBe(65);
  });

  it('a timeline without subtasks is empty', () => {
    expect(buildTimeline([], [], 'COMPLETED')).toEqual({ bars: [], open: 0, spanMs: 0, limitMs: null, measured: false });
  });
});

describe.each(['IN_PROGRESS', 'FAILED'] as const)('the timeline of a checkpoint in state %s', (state) => {
  const read = chain(0, 'read', [subtask(0, 10), subtask(2, 90)]);
  const at = (ms: number): string => new Date(ms).toISOString();
  const checkpoint = { state, triggered_at: at(1_000), failed_at: state === 'FAILED' ? at(1_600) : null };

  it('lists subtasks that have not acknowledged above all other subtasks', () => {
    const found = buildTimeline([read, chain(1, 'write', [])], graph(3, 2), state);
    expect(found.bars.map(({ name, open }) => [name, open])).toEqual([['read [1]', true], ['write [0]', true], ['write [1]', true], ['read [2]', false], ['read [0]', false]]);
    expect(found).toMatchObject({ open: 3, spanMs: 90 });
  });

  it('the timeline marks no stragglers, because the checkpoint is not completed', () => {
    expect(buildTimeline([read], graph(3), state).limitMs).toBeNull();
    expect(buildTimeline([read], graph(3), 'COMPLETED').limitMs).not.toBeNull();
  });

  it('a timeline has no open bars if the graph is unknown', () => {
    const found = buildTimeline([read], [], state);
    expect(found.bars.map(({ name }) => name)).toEqual(['read [2]', 'read [0]']);
    expect(axisAt(found, checkpoint, 9_000)).toEqual({ openMs: 0, spanMs: 90 });
  });

  it('extends open bars until now or until the failure of the checkpoint', () => {
    const found = buildTimeline([read], graph(3), state);
    const [first, later] = state === 'FAILED' ? [600, 600] : [700, 1_700];
    expect(axisAt(found, checkpoint, 1_700)).toEqual({ openMs: first, spanMs: first });
    expect(axisAt(found, checkpoint, 2_700)).toEqual({ openMs: later, spanMs: later });
  });

  it('extends open bars at least to the end of the longest bar that is not open', () => {
    expect(axisAt(buildTimeline([read], graph(3), state), { ...checkpoint, triggered_at: at(5_000) }, 1_700)).toEqual({ openMs: 90, spanMs: 90 });
  });

  it('the bars of unchanged subtasks are equal', () => {
    const before = buildTimeline([read], graph(3), state).bars;
    const same = buildTimeline([chain(0, 'read', [subtask(0, 10), subtask(2, 90)])], graph(3), state).bars;
    const more = buildTimeline([chain(0, 'read', [subtask(0, 10), subtask(1, 95), subtask(2, 91)])], graph(3), state).bars;
    expect(before.map((bar, place) => isEqualBar(bar, same[place]!))).toEqual([true, true, true]);
    expect(before.map((bar, place) => isEqualBar(bar, more[place]!))).toEqual([false, false, true]);
  });
});

it('a completed checkpoint has no open bars, even if the graph has more subtasks', () => {
  const found = buildTimeline([chain(0, 'read', [subtask(0, 10)])], graph(8), 'COMPLETED');
  expect(found).toMatchObject({ open: 0, spanMs: 10 });
  expect(found.bars).toHaveLength(1);
});

describe('the axis', () => {
  it.each([
    [100, [0, 20, 40, 60, 80, 100]], [84, [0, 20, 40, 60, 80]], [7, [0, 2, 4, 6]], [4_300, [0, 1000, 2000, 3000, 4000]], [0.6, [0, 0.2, 0.4, 0.6]], [0, [0]],
  ])('the axis has round tick values up to %d ms', (span, expected) => {
    const found = ticks(span);
    expect(found).toHaveLength(expected.length);
    found.forEach((tick, place) => expect(tick).toBeCloseTo(expected[place]!));
  });

  it.each([
    [2.3, ['0', '0.5 ms', '1.0 ms', '1.5 ms', '2.0 ms']],
    [0.11, ['0', '0.05 ms', '0.10 ms']],
    [5, ['0', '1 ms', '2 ms', '3 ms', '4 ms', '5 ms']],
    [2_400, ['0', '500 ms', '1 s', '1.5 s', '2 s']],
    [70_000, ['0', '20 s', '40 s', '1 min']],
    [0, ['0']],
  ])('the axis has distinct labels from 0 to %d ms', (span, expected) => {
    const all = ticks(span);
    expect(all.map((_, place) => tickLabel(all, place))).toEqual(expected);
  });

  it('a position beyond an end of the axis is moved to this end', () => {
    expect([axisPercent(25, 100), axisPercent(101, 100), axisPercent(5, 0)]).toEqual([25, 100, 0]);
  });
});
