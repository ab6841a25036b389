import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { deployedSubtasks, alignmentRows, timeRows, sortRows, worstFirst } from './heatRows';

type Series = Schemas['SubtaskSeriesRead'];
export const series = (chain: number, index: number, backpressured: number[], level: Schemas['BackpressureLevel'] = 'ok', firstS = 0): Series => ({
  chain, index, operators: [{ uid: `u${chain}`, name: `op ${chain}` }], at: backpressured.map((_, place) => new Date((firstS + 10 * place) * 1000).toISOString()),
  records_in_per_s: [], records_out_per_s: [], bytes_in_per_s: [], bytes_out_per_s: [], backpressured_ms_per_s: backpressured, pressure_ms_per_s: backpressured,
  busy_ms_per_s: backpressured.map((ms) => 1000 - ms), idle_ms_per_s: backpressured.map(() => 0), queued_ms_per_s: backpressured.map(() => 0),
  backpressure: backpressured.map(() => level),
});
const subtasks = [series(1, 1, [100, 700], 'high'), series(1, 0, [500, 50]), series(0, 0, [400, 200], 'low')];

describe('heat map rows', () => {
  it('heat map rows show the last value of each subtask, sorted by chain and index', () => {
    expect(timeRows(subtasks, 'backpressured')).toEqual([
      { chain: 0, name: 'op 0', level: 'low', cells: [{ index: 0, value: 0.2, heat: 0.2, text: '20 %' }] },
      { chain: 1, name: 'op 1', level: 'high', cells: [{ index: 0, value: 0.05, heat: 0.05, text: '5 %' }, { index: 1, value: 0.7, heat: 0.7, text: '70 %' }] },
    ]);
    expect(timeRows(subtasks, 'busy')[0]!.cells[0]!.value).toBeCloseTo(0.8);
  });

  it('the cell of a subtask without samples shows a dash', () => {
    expect(timeRows([series(0, 0, [])], 'idle')).toMatchObject([{ level: null, cells: [{ value: null, heat: 0, text: '–' }] }]);
  });

  it('the colour of an alignment cell is relative to the longest alignment', () => {
    const subtask = (index: number, ms: number | null): Schemas['SubtaskStatisticsRead'] => ({
      index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: null, state_size: null, checkpoint: null, start_delay: null, aborted: false, straggler: false,
      unaligned_checkpoint: false, alignment: ms === null ? null : { duration: ms, buffered: null, processed: null, persisted: 0 },
    });
    const [row] = alignmentRows([{ chain: 1, operators: [], subtasks: [subtask(0, 80), subtask(1, 20), subtask(2, null)] }], subtasks);
    expect(row).toMatchObject({ name: 'chain 1', level: 'high' });
    expect(row!.cells.map(({ heat, text }) => [heat, text])).toEqual([[1, '80 ms'], [0.25, '20 ms'], [0, '–']]);
  });

});

describe('the order of operators', () => {
  const loaded = (chain: number, index: number, busy: number, pressure: number): Series => ({ ...series(chain, index, [0]), busy_ms_per_s: [busy], pressure_ms_per_s: [pressure] });

  it('operators are sorted by pressure and busy time: the bottleneck first, then the operators that wait for it, and idle operators last', () => {
    expect(worstFirst([loaded(0, 0, 20, 0), loaded(1, 0, 10, 980), loaded(2, 0, 300, 690), loaded(3, 0, 1000, 0), loaded(4, 0, 120, 0)])).toEqual([3, 2, 1, 4, 0]);
    expect(worstFirst([])).toEqual([]);
  });

  it('the most loaded subtask of an operator determines its place in the order, and operators with similar load stay in graph order', () => {
    expect(worstFirst([loaded(0, 0, 400, 0), loaded(1, 0, 20, 0), loaded(1, 1, 900, 0)])).toEqual([1, 0]);
    expect(worstFirst([loaded(0, 0, 960, 0), loaded(1, 0, 980, 0), loaded(2, 0, 20, 0), loaded(3, 0, 30, 0)])).toEqual([0, 1, 2, 3]);
  });

  it('rows are sorted in the given order of chains, and rows of other chains come last', () => {
    const rows = timeRows([...subtasks, series(7, 0, [1]), series(3, 0, [1])], 'busy');
    expect(sortRows(rows, [1, 9, 0]).map(({ chain }) => chain)).toEqual([1, 0, 3, 7]);
    expect(sortRows(rows, null)).toBe(rows);
  });
});

describe('recent samples', () => {
  const chain = (index: number, uid: string, parallelism: number) => ({ index, parallelism, operators: [{ uid, name: uid, kind: 'map', stateful: false, site: '' }] });

  it('samples of subtasks that are not in the deployed graph are dropped', () => {
    expect(deployedSubtasks(subtasks, [chain(0, 'u0', 1), chain(1, 'u1', 1)]).map(({ chain: of, index }) => [of, index])).toEqual([[1, 0], [0, 0]]);
    expect(deployedSubtasks(subtasks, [chain(0, 'other', 1), chain(1, 'u1', 2)]).map(({ chain: of, index }) => [of, index])).toEqual([[1, 1], [1, 0]]);
  });

  it('samples of all subtasks are kept while the graph is unknown', () => {
    expect(deployedSubtasks(subtasks, [])).toBe(subtasks);
  });
});
