import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { coloursOf } from '../../../look/states';
import type { Ink } from '../../../shared/chart/option';
import { trendsOf } from './trends';

const INK: Ink = { mode: 'dark', text: '#ffffff', faint: '#999999', line: '#333333', paper: '#000000', font: 'x' };
const point = (number: number, took: number | null): Schemas['CheckpointPointBody'] => ({
  id: number, number, triggered_at: new Date(number * 1000).toISOString(), is_savepoint: false, end_to_end_ms: took, state_bytes: 2_000, checkpointed_bytes: 100 * number, start_delay_ms: 1,
  alignment_ms: took === null ? null : took / 2, sync_ms: 0.4, async_ms: 12,
});

describe('trends', () => {
  const found = trendsOf([point(1, 80), point(2, null), point(3, 40)], INK, 'linear');

  it('are duration, sizes, alignment and snapshot', () => {
    expect(found.map(({ title }) => title)).toEqual(['Duration', 'Size', 'Alignment, slowest subtask', 'Snapshot, slowest subtask']);
    expect(found[0]!.option.series).toMatchObject([{ data: [[1000, 80], [2000, null], [3000, 40]] }]);
    expect(found[1]!.option.series).toMatchObject([{ name: 'state size', data: [[1000, 2000], [2000, 2000], [3000, 2000]] }, { name: 'checkpointed size', data: [[1000, 100], [2000, 200], [3000, 300]] }]);
  });

  it('are interrupted where the job took none for long', () => {
    const [duration] = trendsOf([point(1, 80), point(2, 60), point(300, 40)], INK, 'linear');
    expect(duration!.option.series).toMatchObject([{ data: [[1000, 80], [2000, 60], [3000, null], [300_000, 40]] }]);
  });

  it('are told to who cannot see them', () => {
    expect(found[0]!.label).toBe('Duration: end to end 40 ms at last, 80 ms at most');
    expect(found[2]!.label).toBe('Alignment, slowest subtask: alignment 20 ms at last, 40 ms at most; start delay 1 ms at last, 1 ms at most');
    expect(trendsOf([point(1, null)], INK, 'linear')[0]!.label).toBe('Duration: nothing was measured');
  });

  it('are drawn on the scale that was chosen', () => {
    expect(found[0]!.option.yAxis).toMatchObject({ type: 'value' });
    expect(trendsOf([point(1, 80)], INK, 'logarithmic').map(({ option }) => option.yAxis)).toMatchObject([{ type: 'log' }, { type: 'log' }, { type: 'log' }, { type: 'log' }]);
  });

  it('have the colours of the theme', () => {
    expect(found[2]!.option.series).toMatchObject([{ lineStyle: { color: coloursOf('phase', 'alignment', 'dark').ink } }, {}]);
  });
});
