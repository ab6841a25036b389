import { Box, Button, useTheme } from '@mui/material';
import { memo, useMemo, useState, type ReactNode } from 'react';

import type { Schemas } from '../../../api/types';
import { pluralize, duration } from '../../../format';
import { coloursOf, type Mode } from '../../../theme/states';
import { LongTable, type Column } from '../../../shared/LongTable';
import { EmptyState } from '../../../shared/DataStates';
import { StateChip } from '../../../shared/StateChip';
import { useIncrementalList } from '../../../shared/incrementalList';
import { useNow } from '../../../shared/useNow';
import { isEqualBar, axisPercent, axisAt, tickLabel, ticks, type Bar, type Phase, type Timeline as Of } from './timeline';

type Checkpoint = Schemas['CheckpointRead'];

/** By default, the timeline shows this number of subtasks, slowest first. */
const SHOWN = 10;
const BAR_HEIGHT = 14;

/** The number of rows that are rendered in one animation frame. */
const ROWS_AT_ONCE = 15;

/** A Gantt chart of the phases of each subtask in a checkpoint. */
export function SubtaskTimeline({ of, checkpoint }: { of: Of; checkpoint: Checkpoint }) {
  const [all, setAll] = useState(false);
  const { palette: { mode } } = useTheme();
  const bars = useMemo(() => (all ? of.bars : of.bars.slice(0, SHOWN)), [all, of]);
  const shown = useIncrementalList(bars, ROWS_AT_ONCE, isEqualBar);
  const columns = useMemo<Column[]>(() => [
    { title: 'Subtask, slowest first', width: '26%' }, { title: <Axis of={of} checkpoint={checkpoint} />, ariaLabel: 'Phases', width: 'minmax(0, 1fr)' },
    { title: 'Duration', width: '90px', number: true }, { ariaLabel: 'Straggler, or not acknowledged', width: '150px' },
  ], [of, checkpoint]);
  if (of.bars.length === 0) return <EmptyState title="No acknowledgements">{checkpoint.state === 'IN_PROGRESS' ? 'Subtasks appear here when they acknowledge the checkpoint.' : 'No subtask acknowledged this checkpoint.'}</EmptyState>;
  const limitAt = of.limitMs === null || of.limitMs > of.spanMs ? null : axisPercent(of.limitMs, of.spanMs);
  return (
    <>
      <Legend of={of} checkpoint={checkpoint} mode={mode} />
      <AxisVariables of={of} checkpoint={checkpoint}>
        <LongTable dense columns={columns}>
          {/* The React key is the position of the row. The subtask would not be a unique key: until all rows are updated, an old row and a new row can show the same subtask. */}
          {shown.map((bar, place) => <Row key={place} bar={bar} limitAt={limitAt} mode={mode} />)}
        </LongTable>
      </AxisVariables>
      {of.bars.length > SHOWN && <Button size="small" onClick={() => setAll(!all)}>{all ? `Show slowest ${SHOWN}` : `Show all ${of.bars.length} subtasks`}</Button>}
    </>
  );
}

interface AxisProps {
  of: Of;
  checkpoint: Checkpoint;
}

/** Return the lengths of the axis and of the open bars. While a checkpoint is in progress, its axis and its open bars grow every second. */
function useAxis({ of, checkpoint }: AxisProps): ReturnType<typeof axisAt> {
  return axisAt(of, checkpoint, useNow());
}

/**
 * Sets the lengths of the axis and of the open bars in CSS variables. The bars of subtasks that have not acknowledged are open, and grow every
 * second. When only CSS variables change, React need not render the rows again.
 */
function AxisVariables({ of, checkpoint, children }: AxisProps & { children: ReactNode }) {
  const { openMs, spanMs } = useAxis({ of, checkpoint });
  return <div style={{ '--open': openMs, '--span': spanMs } as object}>{children}</div>;
}

interface RowProps {
  bar: Bar;
  /** The position of the straggler limit on the axis, in percent. */
  limitAt: number | null;
  mode: Mode;
}

const Row = memo(function Row({ bar, limitAt, mode }: RowProps) {
  return (
    <div role="row">
      <div role="cell" className="name" title={bar.name}>{bar.name}</div>
      <div role="cell"><Track bar={bar} limitAt={limitAt} mode={mode} /></div>
      <div role="cell" className="number">{duration(bar.tookMs)}</div>
      <div role="cell">
        {bar.open && <StateChip kind="phase" state="not acknowledged" />}
        {bar.straggler && <StateChip kind="backpressure" state="high" label="straggler" />}
      </div>
    </div>
  );
});

function Track({ bar, limitAt, mode }: RowProps) {
  const { palette } = useTheme();
  const label = bar.open ? 'not acknowledged' : bar.segments.map(({ phase, fromMs, toMs }) => `${phase} ${duration(toMs - fromMs)}`).join(', ');
  return (
    <svg width="100%" height={BAR_HEIGHT} role="img" aria-label={label || 'no measurements'}>
      {bar.open && <PhaseBar phase="not acknowledged" fromMs={0} tookMs="var(--open)" mode={mode} title="The phases of a subtask are reported with its acknowledgement." />}
      {bar.segments.map(({ phase, fromMs, toMs }) => (
        <PhaseBar key={phase} phase={phase} fromMs={fromMs} tookMs={toMs - fromMs} mode={mode} title={`${phase}: ${duration(toMs - fromMs)}, starting at ${duration(fromMs)}`} />
      ))}
      {limitAt !== null && <line x1={`${limitAt}%`} x2={`${limitAt}%`} y1={0} y2={BAR_HEIGHT} stroke={palette.text.secondary} strokeDasharray="2 2" />}
    </svg>
  );
}

/** `tookMs`: the duration in milliseconds, or a CSS variable that `AxisVariables` sets. */
function PhaseBar({ phase, fromMs, tookMs, mode, title }: { phase: Phase; fromMs: number; tookMs: number | string; mode: Mode; title: string }) {
  const { ink, ground } = coloursOf('phase', phase, mode);
  const hollow = isHollow(phase);
  return (
    <rect style={{ x: onAxis(fromMs), width: onAxis(tookMs) }} y={hollow ? 3.5 : 1} height={hollow ? BAR_HEIGHT - 7 : BAR_HEIGHT - 2} fill={hollow ? ground : ink} stroke={hollow ? ink : 'none'} strokeWidth={hollow ? 0.75 : 0} strokeDasharray={dashes(phase)}>
      <title>{title}</title>
    </rect>
  );
}

const onAxis = (ms: number | string): string => `calc(100% * ${ms} / var(--span))`;
/**
 * Users can distinguish the phases without colour. Bars of waiting phases are outlined, bars of working phases are filled, and bars of unknown phases
 * are dashed.
 */
const isHollow = (phase: Phase): boolean => phase === 'acknowledging' || phase === 'start delay' || phase === 'not acknowledged';
const dashes = (phase: Phase): string | undefined => (phase === 'not acknowledged' ? '4 2' : undefined);

function Axis(axis: AxisProps) {
  const { palette } = useTheme();
  const { spanMs } = useAxis(axis);
  const all = ticks(spanMs);
  return (
    <svg width="100%" height={14} aria-hidden>
      {all.map((tick, place) => (
        <text key={tick} x={`${axisPercent(tick, spanMs)}%`} y={11} fontSize={11} fill={palette.text.secondary} textAnchor={place === 0 ? 'start' : axisPercent(tick, spanMs) > 94 ? 'end' : 'middle'}>
          {tickLabel(all, place)}
        </text>
      ))}
    </svg>
  );
}

const PHASE_TEXT: Record<Exclude<Phase, 'not acknowledged'>, string> = {
  'start delay': 'start delay: time until the first barrier arrives',
  alignment: 'alignment: time until the last barrier arrives',
  sync: 'sync: the subtask pauses and copies its state',
  async: 'async: the state is written to files',
  acknowledging: 'acknowledging: the subtask waits for the other subtasks of its slot',
};
type MeasuredPhase = keyof typeof PHASE_TEXT;

function Legend({ of, checkpoint, mode }: AxisProps & { mode: Mode }) {
  const { limitMs, measured, open } = of;
  const phases = (Object.keys(PHASE_TEXT) as MeasuredPhase[]).filter((phase) => measured || phase === 'acknowledging');
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', columnGap: 2, rowGap: 0.25, mb: 0.5, color: 'text.secondary', fontSize: '0.78rem' }}>
      {open > 0 && <Sample phase="not acknowledged" mode={mode}><MissingText of={of} checkpoint={checkpoint} /></Sample>}
      {phases.map((phase) => <Sample key={phase} phase={phase} mode={mode}>{PHASE_TEXT[phase]}</Sample>)}
      {limitMs !== null && <span>┆ stragglers take {duration(limitMs)} or longer</span>}
    </Box>
  );
}

function MissingText(axis: AxisProps) {
  const { openMs } = useAxis(axis);
  const { of: { open, bars }, checkpoint: { state } } = axis;
  return <>not acknowledged by {open} of {pluralize(bars.length, 'subtask')}{state === 'FAILED' ? ` when the checkpoint failed, after ${duration(openMs)}` : ` after ${duration(openMs)}`}</>;
}

function Sample({ phase, mode, children }: { phase: Phase; mode: Mode; children: ReactNode }) {
  const { ink, ground } = coloursOf('phase', phase, mode);
  const hollow = isHollow(phase);
  return (
    <Box sx={{ display: 'flex', alignItems: 'center', gap: 0.75 }}>
      <svg width={14} height={10} aria-hidden>
        <rect x={0.5} y={hollow ? 2.5 : 0.5} width={13} height={hollow ? 5 : 9} fill={hollow ? ground : ink} stroke={ink} strokeWidth={0.75} strokeDasharray={dashes(phase)} />
      </svg>
      <span>{children}</span>
    </Box>
  );
}
