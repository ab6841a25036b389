import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { looksAlike, percentOf, reachAt, segmentsOf, ticked, ticks, timelineOf } from './timeline';

type Subtask = Schemas['SubtaskBody'];
const subtask = (index: number, tookMs: number | null, phases?: [startDelay: number, alignment: number, sync: number, async: number], straggler = false): Subtask => ({
  index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: tookMs, state_size: null, straggler, aborted: false, unaligned_checkpoint: false,
  start_delay: phases?.[0] ?? null,
  alignment: phases ? { duration: phases[1], buffered: null, processed: null, persisted: 0 } : null,
  checkpoint: phases ? { sync: phases[2], async: phases[3] } : null,
});
const graph = (...parallelisms: number[]) => parallelisms.map((parallelism, index) => ({ index, parallelism, operators: [] }));
const chain = (index: number, name: string, subtasks: Subtask[]) => ({ chain: index, operators: name ? [{ uid: name, name }] : [], subtasks });

describe('what a subtask did', () => {
  it('is one thing after the other, until it was acknowledged', () => {
    expect(segmentsOf(subtask(0, 100, [10, 20, 5, 40]))).toEqual([
      { phase: 'start delay', fromMs: 0, toMs: 10 },
      { phase: 'alignment', fromMs: 10, toMs: 30 },
      { phase: 'sync', fromMs: 30, toMs: 35 },
      // 40 from the beginning of the sync phase on.
      { phase: 'async', fromMs: 35, toMs: 70 },
      { phase: 'acknowledging', fromMs: 70, toMs: 100 },
    ]);
  });

  it('leaves out what took no time', () => {
    expect(segmentsOf(subtask(0, 9, [0, 0, 4, 9])).map(({ phase }) => phase)).toEqual(['sync', 'async']);
  });

  it('is only its acknowledgement where nothing was measured', () => {
    expect(segmentsOf(subtask(0, 12))).toEqual([{ phase: 'acknowledging', fromMs: 0, toMs: 12 }]);
    expect(segmentsOf(subtask(0, null))).toEqual([]);
  });
});

describe('a timeline', () => {
  it('has the slowest first, named by operator and subtask', () => {
    const found = timelineOf([chain(0, 'read', [subtask(0, 10), subtask(1, 40)]), chain(1, '', [subtask(0, 20)])], graph(2, 1), 'COMPLETED');
    expect(found.bars.map(({ name, tookMs }) => [name, tookMs])).toEqual([['read [1]', 40], ['chain 1 [0]', 20], ['read [0]', 10]]);
    expect(found).toMatchObject({ spanMs: 40, open: 0, measured: false });
  });

  it('marks stragglers, and says from where on one is', () => {
    const found = timelineOf([chain(0, 'read', [subtask(0, 10), subtask(1, 10), subtask(2, 10), subtask(3, 100, [0, 90, 1, 10], true)])], graph(4), 'COMPLETED');
    expect(found.bars.filter(({ straggler }) => straggler).map(({ name }) => name)).toEqual(['read [3]']);
    expect(found.limitMs).toBeCloseTo(86.5);
    expect(found.measured).toBe(true);
  });

  it('reaches as far as any clock says', () => {
    expect(timelineOf([chain(0, 'read', [subtask(0, 50, [40, 20, 1, 5])])], [], 'COMPLETED').spanMs).toBe(65);
  });

  it('of nobody is empty', () => {
    expect(timelineOf([], [], 'COMPLETED')).toEqual({ bars: [], open: 0, spanMs: 0, limitMs: null, measured: false });
  });
});

describe.each(['IN_PROGRESS', 'FAILED'] as const)('a timeline of what is %s', (state) => {
  const read = chain(0, 'read', [subtask(0, 10), subtask(2, 90)]);
  const at = (ms: number): string => new Date(ms).toISOString();
  const checkpoint = { state, triggered_at: at(1_000), failed_at: state === 'FAILED' ? at(1_600) : null };

  it('begins with those that have not acknowledged, of all there are', () => {
    const found = timelineOf([read, chain(1, 'write', [])], graph(3, 2), state);
    expect(found.bars.map(({ name, open }) => [name, open])).toEqual([['read [1]', true], ['write [0]', true], ['write [1]', true], ['read [2]', false], ['read [0]', false]]);
    expect(found).toMatchObject({ open: 3, spanMs: 90 });
  });

  it('has no stragglers: who holds it up is missing', () => {
    expect(timelineOf([read], graph(3), state).limitMs).toBeNull();
    expect(timelineOf([read], graph(3), 'COMPLETED').limitMs).not.toBeNull();
  });

  it('does without those that are missing where the graph is not known', () => {
    const found = timelineOf([read], [], state);
    expect(found.bars.map(({ name }) => name)).toEqual(['read [2]', 'read [0]']);
    expect(reachAt(found, checkpoint, 9_000)).toEqual({ openMs: 0, spanMs: 90 });
  });

  it('reaches as far as they do', () => {
    const found = timelineOf([read], graph(3), state);
    const [first, later] = state === 'FAILED' ? [600, 600] : [700, 1_700];
    expect(reachAt(found, checkpoint, 1_700)).toEqual({ openMs: first, spanMs: first });
    expect(reachAt(found, checkpoint, 2_700)).toEqual({ openMs: later, spanMs: later });
  });

  it('never ends before those that have acknowledged, whatever the clocks say', () => {
    expect(reachAt(timelineOf([read], graph(3), state), { ...checkpoint, triggered_at: at(5_000) }, 1_700)).toEqual({ openMs: 90, spanMs: 90 });
  });

  it('draws nobody anew of whom nothing else is known than before', () => {
    const before = timelineOf([read], graph(3), state).bars;
    const same = timelineOf([chain(0, 'read', [subtask(0, 10), subtask(2, 90)])], graph(3), state).bars;
    const more = timelineOf([chain(0, 'read', [subtask(0, 10), subtask(1, 95), subtask(2, 91)])], graph(3), state).bars;
    expect(before.map((bar, place) => looksAlike(bar, same[place]!))).toEqual([true, true, true]);
    expect(before.map((bar, place) => looksAlike(bar, more[place]!))).toEqual([false, false, true]);
  });
});

it('a completed checkpoint lacks nobody, whatever its graph says', () => {
  const found = timelineOf([chain(0, 'read', [subtask(0, 10)])], graph(8), 'COMPLETED');
  expect(found).toMatchObject({ open: 0, spanMs: 10 });
  expect(found.bars).toHaveLength(1);
});

describe('the axis', () => {
  it.each([
    [100, [0, 20, 40, 60, 80, 100]], [84, [0, 20, 40, 60, 80]], [7, [0, 2, 4, 6]], [4_300, [0, 1000, 2000, 3000, 4000]], [0.6, [0, 0.2, 0.4, 0.6]], [0, [0]],
  ])('up to %d ms', (span, wanted) => {
    const found = ticks(span);
    expect(found).toHaveLength(wanted.length);
    found.forEach((tick, place) => expect(tick).toBeCloseTo(wanted[place]!));
  });

  it.each([
    [2.3, ['0', '0.5 ms', '1.0 ms', '1.5 ms', '2.0 ms']],
    [0.11, ['0', '0.05 ms', '0.10 ms']],
    [5, ['0', '1 ms', '2 ms', '3 ms', '4 ms', '5 ms']],
    [2_400, ['0', '500 ms', '1 s', '1.5 s', '2 s']],
    [70_000, ['0', '20 s', '40 s', '1 min']],
    [0, ['0']],
  ])('tells the moments from 0 to %d ms apart', (span, wanted) => {
    const all = ticks(span);
    expect(all.map((_, place) => ticked(all, place))).toEqual(wanted);
  });

  it('never leaves its ends', () => {
    expect([percentOf(25, 100), percentOf(101, 100), percentOf(5, 0)]).toEqual([25, 100, 0]);
  });
});
