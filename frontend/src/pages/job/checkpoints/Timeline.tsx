import { Box, Button, useTheme } from '@mui/material';
import { memo, useMemo, useState, type ReactNode } from 'react';

import type { Schemas } from '../../../api/types';
import { counted, duration } from '../../../format';
import { coloursOf, type Mode } from '../../../look/states';
import { LongTable, type Column } from '../../../shared/LongTable';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useGradual } from '../../../shared/useGradual';
import { useNow } from '../../../shared/useNow';
import { looksAlike, percentOf, reachAt, ticked, ticks, type Bar, type Phase, type Timeline as Of } from './timeline';

type Checkpoint = Schemas['CheckpointBody'];

/** The slowest are what it is about. */
const SHOWN = 10;
const BAR_HEIGHT = 14;

/** In each frame of the browser so many rows are drawn anew. */
const ROWS_AT_ONCE = 15;

/** Who holds a checkpoint up, or held it up, and with what. */
export function Timeline({ of, checkpoint }: { of: Of; checkpoint: Checkpoint }) {
  const [all, setAll] = useState(false);
  const { palette: { mode } } = useTheme();
  const bars = useMemo(() => (all ? of.bars : of.bars.slice(0, SHOWN)), [all, of]);
  const shown = useGradual(bars, ROWS_AT_ONCE, looksAlike);
  const columns = useMemo<Column[]>(() => [
    { title: 'Subtask, slowest first', width: '26%' }, { title: <Axis of={of} checkpoint={checkpoint} />, said: 'What it did when', width: 'minmax(0, 1fr)' },
    { title: 'Took', width: '90px', number: true }, { said: 'Straggler, or not acknowledged', width: '150px' },
  ], [of, checkpoint]);
  if (of.bars.length === 0) return <Empty title="Nobody has acknowledged it">{checkpoint.state === 'IN_PROGRESS' ? 'Subtasks appear here as they do.' : 'So nothing is known of how long anybody took.'}</Empty>;
  const limitAt = of.limitMs === null || of.limitMs > of.spanMs ? null : percentOf(of.limitMs, of.spanMs);
  return (
    <>
      <Legend of={of} checkpoint={checkpoint} mode={mode} />
      <Reach of={of} checkpoint={checkpoint}>
        <LongTable dense columns={columns}>
          {/* By their place: while they come there may be one of before and the same anew. */}
          {shown.map((bar, place) => <Row key={place} bar={bar} limitAt={limitAt} mode={mode} />)}
        </LongTable>
      </Reach>
      {of.bars.length > SHOWN && <Button size="small" onClick={() => setAll(!all)}>{all ? `The ${SHOWN} slowest only` : `All ${of.bars.length} subtasks`}</Button>}
    </>
  );
}

interface Reaching {
  of: Of;
  checkpoint: Checkpoint;
}

/** Once a second as long as it is in progress. */
function useReach({ of, checkpoint }: Reaching): ReturnType<typeof reachAt> {
  return reachAt(of, checkpoint, useNow());
}

/** Bars are as long as these two say: while they grow no row is drawn anew, however many there are. */
function Reach({ of, checkpoint, children }: Reaching & { children: ReactNode }) {
  const { openMs, spanMs } = useReach({ of, checkpoint });
  return <div style={{ '--open': openMs, '--span': spanMs } as object}>{children}</div>;
}

interface RowProps {
  bar: Bar;
  /** Where the limit of stragglers is, in percent. */
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
        {bar.open && <State of="phase" is="not acknowledged" />}
        {bar.straggler && <State of="backpressure" is="high" label="straggler" />}
      </div>
    </div>
  );
});

function Track({ bar, limitAt, mode }: RowProps) {
  const { palette } = useTheme();
  const said = bar.open ? 'not acknowledged' : bar.segments.map(({ phase, fromMs, toMs }) => `${phase} ${duration(toMs - fromMs)}`).join(', ');
  return (
    <svg width="100%" height={BAR_HEIGHT} role="img" aria-label={said || 'nothing was measured'}>
      {bar.open && <Piece phase="not acknowledged" fromMs={0} tookMs="var(--open)" mode={mode} said="What it does it tells with its acknowledgement." />}
      {bar.segments.map(({ phase, fromMs, toMs }) => (
        <Piece key={phase} phase={phase} fromMs={fromMs} tookMs={toMs - fromMs} mode={mode} said={`${phase}: ${duration(toMs - fromMs)}, from ${duration(fromMs)} on`} />
      ))}
      {limitAt !== null && <line x1={`${limitAt}%`} x2={`${limitAt}%`} y1={0} y2={BAR_HEIGHT} stroke={palette.text.secondary} strokeDasharray="2 2" />}
    </svg>
  );
}

/** `tookMs`: as CSS has it, in terms of what `Reach` says. */
function Piece({ phase, fromMs, tookMs, mode, said }: { phase: Phase; fromMs: number; tookMs: number | string; mode: Mode; said: string }) {
  const { ink, ground } = coloursOf('phase', phase, mode);
  const hollow = isHollow(phase);
  return (
    <rect style={{ x: onAxis(fromMs), width: onAxis(tookMs) }} y={hollow ? 3.5 : 1} height={hollow ? BAR_HEIGHT - 7 : BAR_HEIGHT - 2} fill={hollow ? ground : ink} stroke={hollow ? ink : 'none'} strokeWidth={hollow ? 0.75 : 0} strokeDasharray={dashes(phase)}>
      <title>{said}</title>
    </rect>
  );
}

const onAxis = (ms: number | string): string => `calc(100% * ${ms} / var(--span))`;
/** Waiting is an outline, work is filled, and what nobody knows is dashed: so they can be told apart without their colours. */
const isHollow = (phase: Phase): boolean => phase === 'acknowledging' || phase === 'start delay' || phase === 'not acknowledged';
const dashes = (phase: Phase): string | undefined => (phase === 'not acknowledged' ? '4 2' : undefined);

function Axis(reaching: Reaching) {
  const { palette } = useTheme();
  const { spanMs } = useReach(reaching);
  const all = ticks(spanMs);
  return (
    <svg width="100%" height={14} aria-hidden>
      {all.map((tick, place) => (
        <text key={tick} x={`${percentOf(tick, spanMs)}%`} y={11} fontSize={11} fill={palette.text.secondary} textAnchor={place === 0 ? 'start' : percentOf(tick, spanMs) > 94 ? 'end' : 'middle'}>
          {ticked(all, place)}
        </text>
      ))}
    </svg>
  );
}

const SAID: Record<Exclude<Phase, 'not acknowledged'>, string> = {
  'start delay': 'start delay: until the first barrier came',
  alignment: 'alignment: until the last barrier came',
  sync: 'sync: state held still',
  async: 'async: until files are durable',
  acknowledging: 'until it was acknowledged',
};
type Known = keyof typeof SAID;

function Legend({ of, checkpoint, mode }: Reaching & { mode: Mode }) {
  const { limitMs, measured, open } = of;
  const phases = (Object.keys(SAID) as Known[]).filter((phase) => measured || phase === 'acknowledging');
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', columnGap: 2, rowGap: 0.25, mb: 0.5, color: 'text.secondary', fontSize: '0.78rem' }}>
      {open > 0 && <Sample phase="not acknowledged" mode={mode}><Missing of={of} checkpoint={checkpoint} /></Sample>}
      {phases.map((phase) => <Sample key={phase} phase={phase} mode={mode}>{SAID[phase]}</Sample>)}
      {limitMs !== null && <span>┆ stragglers take {duration(limitMs)} or longer</span>}
    </Box>
  );
}

function Missing(reaching: Reaching) {
  const { openMs } = useReach(reaching);
  const { of: { open, bars }, checkpoint: { state } } = reaching;
  return <>not acknowledged by {open} of {counted(bars.length, 'subtask')}{state === 'FAILED' && ' until it failed'}, after {duration(openMs)}</>;
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
