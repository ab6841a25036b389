import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { percentOf, segmentsOf, ticked, ticks, timelineOf } from './timeline';

type Subtask = Schemas['SubtaskBody'];
const subtask = (index: number, tookMs: number | null, phases?: [startDelay: number, alignment: number, sync: number, async: number], straggler = false): Subtask => ({
  index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: tookMs, state_size: null, straggler, aborted: false, unaligned_checkpoint: false,
  start_delay: phases?.[0] ?? null,
  alignment: phases ? { duration: phases[1], buffered: null, processed: null, persisted: 0 } : null,
  checkpoint: phases ? { sync: phases[2], async: phases[3] } : null,
});
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
    const found = timelineOf([chain(0, 'read', [subtask(0, 10), subtask(1, 40)]), chain(1, '', [subtask(0, 20)])]);
    expect(found.bars.map(({ name, tookMs }) => [name, tookMs])).toEqual([['read [1]', 40], ['chain 1 [0]', 20], ['read [0]', 10]]);
    expect(found).toMatchObject({ spanMs: 40, measured: false });
  });

  it('marks stragglers, and says from where on one is', () => {
    const found = timelineOf([chain(0, 'read', [subtask(0, 10), subtask(1, 10), subtask(2, 10), subtask(3, 100, [0, 90, 1, 10], true)])]);
    expect(found.bars.filter(({ straggler }) => straggler).map(({ name }) => name)).toEqual(['read [3]']);
    expect(found.limitMs).toBeCloseTo(86.5);
    expect(found.measured).toBe(true);
  });

  it('reaches as far as any clock says', () => {
    expect(timelineOf([chain(0, 'read', [subtask(0, 50, [40, 20, 1, 5])])]).spanMs).toBe(65);
  });

  it('of nobody is empty', () => {
    expect(timelineOf([])).toEqual({ bars: [], spanMs: 0, limitMs: null, measured: false });
  });
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
