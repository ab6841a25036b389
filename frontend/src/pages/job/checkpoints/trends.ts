/** How the last checkpoints went, as charts. Pure. */
import type { Schemas } from '../../../api/types';
import { bytes, duration } from '../../../format';
import { coloursOf } from '../../../look/states';
import { linesOverTime, pointsOf, usualStepMs, type Ink, type Line, type Option, type Scale } from '../../../shared/chart/option';

type Point = Schemas['CheckpointPointBody'];
export interface Trend {
  title: string;
  /** For who cannot see it. */
  label: string;
  option: Option;
}

export function trendsOf(checkpoints: readonly Point[], ink: Ink, scale: Scale): Trend[] {
  const at = checkpoints.map(({ triggered_at }) => triggered_at);
  // A job that was down took none: no line is drawn over that.
  const step = usualStepMs(at);
  const line = (name: string, colour: string, value: (one: Point) => number | null, dashed = false): Line => ({
    name, colour, dashed, dots: checkpoints.length <= DOTS_MAX, points: pointsOf(at, checkpoints.map(value), step),
  });
  const colour = (phase: Parameters<typeof coloursOf<'phase'>>[1]): string => coloursOf('phase', phase, ink.mode).ink;
  const plain = coloursOf('checkpoint', 'IN_PROGRESS', ink.mode).ink;
  const chart = (title: string, said: (value: number) => string, lines: Line[]): Trend => ({ title, label: spoken(title, lines, said), option: linesOverTime({ lines, ink, said, scale }) });
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

/** Of more points than this each would be a smear. */
const DOTS_MAX = 60;

/** Of each line its last value, and its largest. */
export function spoken(title: string, lines: readonly Line[], said: (value: number) => string): string {
  const told = lines.flatMap(({ name, points }) => {
    const known = points.flatMap(([, value]) => (value === null ? [] : [value]));
    return known.length === 0 ? [] : [`${name} ${said(known.at(-1)!)} at last, ${said(Math.max(...known))} at most`];
  });
  return `${title}: ${told.length === 0 ? 'nothing was measured' : told.join('; ')}`;
}
