import { Box, Button, useTheme } from '@mui/material';
import { memo, useMemo, useState } from 'react';

import type { Schemas } from '../../../api/types';
import { duration } from '../../../format';
import { coloursOf, STATES, type Mode } from '../../../look/states';
import { LongTable, type Column } from '../../../shared/LongTable';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useGradual } from '../../../shared/useGradual';
import { percentOf, ticked, ticks, type Bar, type Phase, type Timeline as Of } from './timeline';

/** The slowest are what it is about. */
const SHOWN = 10;
const BAR_HEIGHT = 14;

/** In each frame of the browser so many rows are drawn anew. */
const ROWS_AT_ONCE = 15;

/** Who held a checkpoint up, and with what. */
export function Timeline({ of, state }: { of: Of; state: Schemas['CheckpointState'] }) {
  const [all, setAll] = useState(false);
  const { palette: { mode } } = useTheme();
  const bars = useMemo(() => (all ? of.bars : of.bars.slice(0, SHOWN)), [all, of]);
  const shown = useGradual(bars, ROWS_AT_ONCE);
  if (of.bars.length === 0) return <Empty title="Nobody has acknowledged it">{state === 'IN_PROGRESS' ? 'Subtasks appear here as they do.' : 'So nothing is known of how long anybody took.'}</Empty>;
  const columns: Column[] = [
    { title: 'Subtask, slowest first', width: '26%' }, { title: <Axis spanMs={of.spanMs} />, said: 'What it did when', width: 'minmax(0, 1fr)' },
    { title: 'Took', width: '90px', number: true }, { said: 'Straggler', width: '110px' },
  ];
  return (
    <>
      <Legend of={of} mode={mode} />
      <LongTable dense columns={columns}>
        {/* By their place: while they come there may be one of before and the same anew. */}
        {shown.map((bar, place) => <Row key={place} bar={bar} spanMs={of.spanMs} limitMs={of.limitMs} mode={mode} />)}
      </LongTable>
      {of.bars.length > SHOWN && <Button size="small" onClick={() => setAll(!all)}>{all ? `The ${SHOWN} slowest only` : `All ${of.bars.length} subtasks`}</Button>}
    </>
  );
}

interface RowProps {
  bar: Bar;
  spanMs: number;
  limitMs: number | null;
  mode: Mode;
}

const Row = memo(function Row({ bar, spanMs, limitMs, mode }: RowProps) {
  return (
    <div role="row">
      <div role="cell" className="name" title={bar.name}>{bar.name}</div>
      <div role="cell"><Track bar={bar} spanMs={spanMs} limitMs={limitMs} mode={mode} /></div>
      <div role="cell" className="number">{duration(bar.tookMs)}</div>
      <div role="cell">{bar.straggler && <State of="backpressure" is="high" label="straggler" />}</div>
    </div>
  );
});

function Track({ bar, spanMs, limitMs, mode }: RowProps) {
  const { palette } = useTheme();
  const said = bar.segments.map(({ phase, fromMs, toMs }) => `${phase} ${duration(toMs - fromMs)}`).join(', ');
  return (
    <svg width="100%" height={BAR_HEIGHT} role="img" aria-label={said || 'nothing was measured'}>
      {bar.segments.map(({ phase, fromMs, toMs }) => (
        <Piece key={phase} phase={phase} x={percentOf(fromMs, spanMs)} width={percentOf(toMs - fromMs, spanMs)} mode={mode} said={`${phase}: ${duration(toMs - fromMs)}, from ${duration(fromMs)} on`} />
      ))}
      {limitMs !== null && limitMs <= spanMs && (
        <line x1={`${percentOf(limitMs, spanMs)}%`} x2={`${percentOf(limitMs, spanMs)}%`} y1={0} y2={BAR_HEIGHT} stroke={palette.text.secondary} strokeDasharray="2 2" />
      )}
    </svg>
  );
}

function Piece({ phase, x, width, mode, said }: { phase: Phase; x: number; width: number; mode: Mode; said: string }) {
  const { ink, ground } = coloursOf('phase', phase, mode);
  // Waiting is an outline, work is filled: so they can be told apart without their colours.
  const hollow = phase === 'acknowledging' || phase === 'start delay';
  return (
    <rect x={`${x}%`} width={`${width}%`} y={hollow ? 3.5 : 1} height={hollow ? BAR_HEIGHT - 7 : BAR_HEIGHT - 2} fill={hollow ? ground : ink} stroke={hollow ? ink : 'none'} strokeWidth={hollow ? 0.75 : 0}>
      <title>{said}</title>
    </rect>
  );
}

function Axis({ spanMs }: { spanMs: number }) {
  const { palette } = useTheme();
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

const SAID: Record<Phase, string> = {
  'start delay': 'start delay: until the first barrier came',
  alignment: 'alignment: until the last barrier came',
  sync: 'sync: state held still',
  async: 'async: until files are durable',
  acknowledging: 'until it was acknowledged',
};

function Legend({ of: { limitMs, measured }, mode }: { of: Of; mode: Mode }) {
  const phases = (Object.keys(STATES.phase) as Phase[]).filter((phase) => measured || phase === 'acknowledging');
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', columnGap: 2, rowGap: 0.25, mb: 0.5, color: 'text.secondary', fontSize: '0.78rem' }}>
      {phases.map((phase) => (
        <Box key={phase} sx={{ display: 'flex', alignItems: 'center', gap: 0.75 }}>
          <svg width={14} height={10} aria-hidden>
            <Swatch phase={phase} mode={mode} />
          </svg>
          {SAID[phase]}
        </Box>
      ))}
      {limitMs !== null && <span>┆ stragglers take {duration(limitMs)} or longer</span>}
    </Box>
  );
}

function Swatch({ phase, mode }: { phase: Phase; mode: Mode }) {
  const { ink, ground } = coloursOf('phase', phase, mode);
  const hollow = phase === 'acknowledging' || phase === 'start delay';
  return <rect x={0.5} y={hollow ? 2.5 : 0.5} width={13} height={hollow ? 5 : 9} fill={hollow ? ground : ink} stroke={ink} strokeWidth={0.75} />;
}
