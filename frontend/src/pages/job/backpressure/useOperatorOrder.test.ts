import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Schemas } from '../../../api/types';
import { useOperatorOrder } from './useOperatorOrder';

const series = (chain: number, index: number, backpressured_ms_per_s: number[], level: Schemas['BackpressureLevel'] = 'ok'): Schemas['SubtaskSeriesRead'] => ({
  chain, index, operators: [], at: [], records_in_per_s: [], records_out_per_s: [], bytes_in_per_s: [], bytes_out_per_s: [], backpressured_ms_per_s,
  busy_ms_per_s: [], pressure_ms_per_s: backpressured_ms_per_s, idle_ms_per_s: [], queued_ms_per_s: [], backpressure: [level],
});
const before = [series(0, 0, [900], 'high'), series(1, 0, [10])];
const after = [series(0, 0, [10]), series(1, 0, [900], 'high')];

function renderOrder() {
  const table = document.createElement('div');
  const cell = table.appendChild(document.createElement('button'));
  document.body.append(table);
  const tableRef = { current: table };
  const hook = renderHook(({ subtasks }) => useOperatorOrder(subtasks, tableRef), { initialProps: { subtasks: before } });
  return { ...hook, cell };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

describe('the order of operators', () => {
  it('operators are in graph order until the first samples arrive, and are then sorted by backpressure', () => {
    const seen: (readonly number[] | null)[] = [];
    const tableRef = { current: null };
    const { rerender } = renderHook(({ subtasks }) => seen.push(useOperatorOrder(subtasks, tableRef).chains), { initialProps: { subtasks: [] as typeof after } });
    rerender({ subtasks: after });
    expect(seen[0]).toBeNull();
    expect(new Set(seen.slice(1).map(String))).toEqual(new Set(['1,0']));
  });

  it('when metrics change, operators are sorted again at most every ten seconds', () => {
    const { result, rerender } = renderOrder();
    rerender({ subtasks: after });
    expect(result.current.chains).toEqual([0, 1]);
    act(() => void vi.advanceTimersByTime(10_000));
    expect(result.current.chains).toEqual([1, 0]);
  });

  it('operators are not sorted again while the table has the focus', () => {
    const { result, rerender, cell } = renderOrder();
    rerender({ subtasks: after });
    cell.focus();
    act(() => void vi.advanceTimersByTime(30_000));
    expect(result.current.chains).toEqual([0, 1]);
    cell.blur();
    act(() => void vi.advanceTimersByTime(10_000));
    expect(result.current.chains).toEqual([1, 0]);
  });

  it('operators are sorted immediately when the user selects an order', () => {
    const { result, rerender } = renderOrder();
    act(() => result.current.orderBy('graph'));
    expect(result.current.chains).toBeNull();
    rerender({ subtasks: after });
    act(() => result.current.orderBy('worst'));
    expect(result.current.chains).toEqual([1, 0]);
  });
});
