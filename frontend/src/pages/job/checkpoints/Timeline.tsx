import { Box, Button, Table, TableBody, TableCell, TableHead, TableRow, useTheme } from '@mui/material';
import { useState } from 'react';

import type { Schemas } from '../../../api/types';
import { duration } from '../../../format';
import { coloursOf, STATES, type Mode } from '../../../look/states';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { percentOf, ticks, type Bar, type Phase, type Timeline as Of } from './timeline';

/** The slowest are what it is about. */
const SHOWN = 10;
const BAR_HEIGHT = 14;

/** Who held a checkpoint up, and with what. */
export function Timeline({ of, state }: { of: Of; state: Schemas['CheckpointState'] }) {
  const [all, setAll] = useState(false);
  const { palette: { mode } } = useTheme();
  if (of.bars.length === 0) return <Empty title="Nobody has acknowledged it">{state === 'IN_PROGRESS' ? 'Subtasks appear here as they do.' : 'So nothing is known of how long anybody took.'}</Empty>;
  const bars = all ? of.bars : of.bars.slice(0, SHOWN);
  const hidden = of.bars.length - bars.length;
  return (
    <>
      <Legend of={of} mode={mode} />
      <Table size="small" sx={{ tableLayout: 'fixed', '& td, & th': { borderBottom: 0, py: '2px' } }}>
        <TableHead>
          <TableRow>
            <TableCell sx={{ width: '26%' }}>Subtask, slowest first</TableCell>
            <TableCell aria-label="What it did when"><Axis spanMs={of.spanMs} /></TableCell>
            <TableCell align="right" sx={{ width: 90 }}>Took</TableCell>
            <TableCell sx={{ width: 110 }} aria-label="Straggler" />
          </TableRow>
        </TableHead>
        <TableBody>
          {bars.map((bar) => (
            <TableRow key={bar.key}>
              <TableCell sx={{ overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' }} title={bar.name}>{bar.name}</TableCell>
              <TableCell><Track bar={bar} of={of} mode={mode} /></TableCell>
              <TableCell align="right">{duration(bar.tookMs)}</TableCell>
              <TableCell>{bar.straggler && <State of="backpressure" is="high" label="straggler" />}</TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
      {(hidden > 0 || all) && of.bars.length > SHOWN && (
        <Button size="small" onClick={() => setAll(!all)}>{all ? `The ${SHOWN} slowest only` : `All ${of.bars.length} subtasks`}</Button>
      )}
    </>
  );
}

function Track({ bar, of: { spanMs, limitMs }, mode }: { bar: Bar; of: Of; mode: Mode }) {
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
          {tick === 0 ? '0' : duration(tick)}
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
