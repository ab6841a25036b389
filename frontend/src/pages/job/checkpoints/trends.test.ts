import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { coloursOf } from '../../../theme/states';
import type { ChartTheme } from '../../../shared/chart/option';
import { trendCharts } from './trends';

const INK: ChartTheme = { mode: 'dark', text: '#ffffff', secondaryText: '#999999', gridLine: '#333333', background: '#000000', font: 'x' };
const point = (number: number, took: number | null): Schemas['CheckpointSeriesPointRead'] => ({
  id: number, number, triggered_at: new Date(number * 1000).toISOString(), is_savepoint: false, end_to_end_ms: took, state_bytes: 2_000, checkpointed_bytes: 100 * number, start_delay_ms: 1,
  alignment_ms: took === null ? null : took / 2, sync_ms: 0.4, async_ms: 12,
});

describe('trend charts', () => {
  const trends = trendCharts([point(1, 80), point(2, null), point(3, 40)], INK, 'linear');

  it('trend charts show duration, sizes, alignment and snapshot times', () => {
    expect(trends.map(({ title }) => title)).toEqual(['Duration', 'Size', 'Alignment, slowest subtask', 'Snapshot, slowest subtask']);
    expect(trends[0]!.option.series).toMatchObject([{ data: [[1000, 80], [2000, null], [3000, 40]] }]);
    expect(trends[1]!.option.series).toMatchObject([{ name: 'state size', data: [[1000, 2000], [2000, 2000], [3000, 2000]] }, { name: 'checkpointed size', data: [[1000, 100], [2000, 200], [3000, 300]] }]);
  });

  it('a trend chart has a gap for each period without checkpoints', () => {
    const [duration] = trendCharts([point(1, 80), point(2, 60), point(300, 40)], INK, 'linear');
    expect(duration!.option.series).toMatchObject([{ data: [[1000, 80], [2000, 60], [3000, null], [300_000, 40]] }]);
  });

  it('the accessible name of a chart contains the last and the largest values', () => {
    expect(trends[0]!.label).toBe('Duration: end to end last 40 ms, maximum 80 ms');
    expect(trends[2]!.label).toBe('Alignment, slowest subtask: alignment last 20 ms, maximum 40 ms; start delay last 1 ms, maximum 1 ms');
    expect(trendCharts([point(1, null)], INK, 'linear')[0]!.label).toBe('Duration: no measurements');
  });

  it('trend charts use the selected scale', () => {
    expect(trends[0]!.option.yAxis).toMatchObject({ type: 'value' });
    expect(trendCharts([point(1, 80)], INK, 'logarithmic').map(({ option }) => option.yAxis)).toMatchObject([{ type: 'log' }, { type: 'log' }, { type: 'log' }, { type: 'log' }]);
  });

  it('trend charts use the colours of the theme', () => {
    expect(trends[2]!.option.series).toMatchObject([{ lineStyle: { color: coloursOf('phase', 'alignment', 'dark').ink } }, {}]);
  });
});
