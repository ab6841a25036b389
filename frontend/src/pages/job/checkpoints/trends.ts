/** Computes charts of the last completed checkpoints. Pure. */
import type { Schemas } from '../../../api/types';
import { bytes, duration } from '../../../format';
import { coloursOf } from '../../../theme/states';
import { timeSeriesOption, pointsOf, medianStepMs, type ChartTheme, type Series, type Option, type Scale } from '../../../shared/chart/option';

type Point = Schemas['CheckpointSeriesPointRead'];
interface Trend {
  title: string;
  /** The accessible name of the chart, with its last and largest values. */
  label: string;
  option: Option;
}

export function trendCharts(checkpoints: readonly Point[], ink: ChartTheme, scale: Scale): Trend[] {
  const at = checkpoints.map(({ triggered_at }) => triggered_at);
  // A line has a gap where checkpoints are missing, for example because the job was not running.
  const step = medianStepMs(at);
  const line = (name: string, colour: string, value: (one: Point) => number | null, dashed = false): Series => ({
    name, colour, dashed, dots: checkpoints.length <= DOTS_MAX, points: pointsOf(at, checkpoints.map(value), step),
  });
  const colour = (phase: Parameters<typeof coloursOf<'phase'>>[1]): string => coloursOf('phase', phase, ink.mode).ink;
  const plain = coloursOf('checkpoint', 'IN_PROGRESS', ink.mode).ink;
  const chart = (title: string, format: (value: number) => string, lines: Series[]): Trend => ({ title, label: chartLabel(title, lines, format), option: timeSeriesOption({ lines, theme: ink, format, scale }) });
  return [
    chart('Duration', duration, [line('end to end', plain, ({ end_to_end_ms }) => end_to_end_ms)]),
    chart('Size', bytes, [
      line('state size', coloursOf('run', 'FINISHED', ink.mode).ink, ({ state_bytes }) => state_bytes),
      line('checkpointed size', plain, ({ checkpointed_bytes }) => checkpointed_bytes, true),
    ]),
    chart('Alignment, slowest subtask', duration, [
      line('alignment', colour('alignment'), ({ alignment_ms }) => alignment_ms),
      line('start delay', colour('start delay'), ({ start_delay_ms }) => start_delay_ms, true),
    ]),
    chart('Snapshot, slowest subtask', duration, [
      line('async', colour('async'), ({ async_ms }) => async_ms),
      line('sync', colour('sync'), ({ sync_ms }) => sync_ms, true),
    ]),
  ];
}

/** The maximum number of points for which dots are drawn. With more points, dots would overlap. */
const DOTS_MAX = 60;

/** Return an accessible name with the last and the largest value of each line. */
export function chartLabel(title: string, lines: readonly Series[], format: (value: number) => string): string {
  const parts = lines.flatMap(({ name, points }) => {
    const known = points.flatMap(([, value]) => (value === null ? [] : [value]));
    return known.length === 0 ? [] : [`${name} last ${format(known.at(-1)!)}, maximum ${format(Math.max(...known))}`];
  });
  return `${title}: ${parts.length === 0 ? 'no measurements' : parts.join('; ')}`;
}
