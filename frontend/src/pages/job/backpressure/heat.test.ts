import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { deployedOf, heatOfAlignment, heatOfTime, inOrder, worstFirst } from './heat';

type Series = Schemas['SubtaskSeriesBody'];
export const series = (chain: number, index: number, backpressured: number[], level: Schemas['BackpressureLevel'] = 'ok', firstS = 0): Series => ({
  chain, index, operators: [{ uid: `u${chain}`, name: `op ${chain}` }], at: backpressured.map((_, place) => new Date((firstS + 10 * place) * 1000).toISOString()),
  records_in_per_s: [], records_out_per_s: [], bytes_in_per_s: [], bytes_out_per_s: [], backpressured_ms_per_s: backpressured,
  busy_ms_per_s: backpressured.map((ms) => 1000 - ms), idle_ms_per_s: backpressured.map(() => 0), queued_ms_per_s: backpressured.map(() => 0),
  backpressure: backpressured.map(() => level),
});
const subtasks = [series(1, 1, [100, 700], 'high'), series(1, 0, [500, 50]), series(0, 0, [400, 200], 'low')];

describe('the heat map', () => {
  it('has what subtasks did last, in their order', () => {
    expect(heatOfTime(subtasks, 'backpressured')).toEqual([
      { chain: 0, name: 'op 0', level: 'low', cells: [{ index: 0, value: 0.2, heat: 0.2, said: '20 %' }] },
      { chain: 1, name: 'op 1', level: 'high', cells: [{ index: 0, value: 0.05, heat: 0.05, said: '5 %' }, { index: 1, value: 0.7, heat: 0.7, said: '70 %' }] },
    ]);
    expect(heatOfTime(subtasks, 'busy')[0]!.cells[0]!.value).toBeCloseTo(0.8);
  });

  it('does not invent what was not told', () => {
    expect(heatOfTime([series(0, 0, [])], 'idle')).toMatchObject([{ level: null, cells: [{ value: null, heat: 0, said: '–' }] }]);
  });

  it('of alignment is hottest where it took longest', () => {
    const subtask = (index: number, ms: number | null): Schemas['SubtaskBody'] => ({
      index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: null, state_size: null, checkpoint: null, start_delay: null, aborted: false, straggler: false,
      unaligned_checkpoint: false, alignment: ms === null ? null : { duration: ms, buffered: null, processed: null, persisted: 0 },
    });
    const [row] = heatOfAlignment([{ chain: 1, operators: [], subtasks: [subtask(0, 80), subtask(1, 20), subtask(2, null)] }], subtasks);
    expect(row).toMatchObject({ name: 'chain 1', level: 'high' });
    expect(row!.cells.map(({ heat, said }) => [heat, said])).toEqual([[1, '80 ms'], [0.25, '20 ms'], [0, '–']]);
  });

});

describe('the order of operators', () => {
  it('begins with those whose level is worst, of one level with who is held up most, and leaves those that are well as they are', () => {
    const told = [series(0, 0, [20], 'ok'), series(1, 0, [90], 'ok'), series(2, 0, [300], 'low'), series(3, 0, [100], 'low'), series(3, 1, [450], 'low'), series(4, 0, [600], 'high')];
    expect(worstFirst(told)).toEqual([4, 3, 2, 0, 1]);
    expect(worstFirst(subtasks)).toEqual([1, 0]);
    expect(worstFirst([])).toEqual([]);
  });

  it('is kept for what is new; who was not there yet comes last', () => {
    const rows = heatOfTime([...subtasks, series(7, 0, [1]), series(3, 0, [1])], 'busy');
    expect(inOrder(rows, [1, 9, 0]).map(({ chain }) => chain)).toEqual([1, 0, 3, 7]);
    expect(inOrder(rows, null)).toBe(rows);
  });
});

describe('what was told of late', () => {
  const chain = (index: number, uid: string, parallelism: number) => ({ index, parallelism, operators: [{ uid, name: uid }] });

  it('is of the graph that runs: not of subtasks that a rescaled job has no more, nor of other operators', () => {
    expect(deployedOf(subtasks, [chain(0, 'u0', 1), chain(1, 'u1', 1)]).map(({ chain: of, index }) => [of, index])).toEqual([[1, 0], [0, 0]]);
    expect(deployedOf(subtasks, [chain(0, 'other', 1), chain(1, 'u1', 2)]).map(({ chain: of, index }) => [of, index])).toEqual([[1, 1], [1, 0]]);
  });

  it('is all that is known as long as the graph is not', () => {
    expect(deployedOf(subtasks, [])).toBe(subtasks);
  });
});
