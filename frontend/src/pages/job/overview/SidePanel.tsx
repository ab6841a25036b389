import CloseIcon from '@mui/icons-material/Close';
import { Box, IconButton, Table, TableBody, TableCell, TableHead, TableRow, Typography } from '@mui/material';
import { useId } from 'react';

import { bytes, percent, perSecond } from '../../../format';
import { State } from '../../../shared/State';
import type { SubtaskFigures } from './figures';
import { useFigures } from './FiguresContext';
import { nameOf, type Chain } from './graph';
import { useWave } from './waveSource';
import { stepsOf, STEPS } from './wavefront';

const TIMES = ['busy', 'backpressured', 'queued', 'idle'] as const;

/** What the chosen operators are, and what each of their subtasks does. */
export function SidePanel({ chain, onClose }: { chain: Chain; onClose: () => void }) {
  const heading = useId();
  const figures = useFigures(chain.index);
  const steps = useWave((wave) => (wave ? stepsOf(wave, chain.index) : ''));
  return (
    <Box
      component="aside"
      aria-labelledby={heading}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
      sx={{ width: 470, flexShrink: 0, borderLeft: 1, borderColor: 'divider', overflow: 'auto', maxHeight: 'max(400px, calc(100vh - 330px))', fontSize: '0.8rem' }}
    >
      <Box sx={{ display: 'flex', alignItems: 'flex-start', px: 1.5, pt: 1 }}>
        <Typography id={heading} variant="h3" sx={{ overflowWrap: 'anywhere', pt: 0.5 }}>{nameOf(chain)}</Typography>
        <IconButton size="small" aria-label="Close" onClick={onClose} sx={{ ml: 'auto' }}><CloseIcon fontSize="small" /></IconButton>
      </Box>
      <Box component="ul" sx={{ m: 0, px: 1.5, py: 0.5, listStyle: 'none', color: 'text.secondary' }}>
        {chain.operators.map(({ uid, name, kind, stateful, site }) => (
          <li key={uid}><Box component="b" sx={{ color: 'text.primary', fontWeight: 600 }}>{name}</Box> {[kind, stateful && 'keeps state', site].filter(Boolean).join(', ')}</li>
        ))}
      </Box>
      <Times />
      <Table size="small" sx={{ '& td, & th': { px: 0.75, py: '3px', fontSize: '0.76rem' } }}>
        <TableHead>
          <TableRow>
            <TableCell>Subtask</TableCell><TableCell>Time</TableCell><TableCell align="right">In</TableCell><TableCell align="right">Out</TableCell><TableCell align="right">State</TableCell>
            <TableCell>Barrier</TableCell>
          </TableRow>
        </TableHead>
        <TableBody>
          {Array.from({ length: chain.parallelism }, (_, index) => {
            const one = figures?.subtasks[index];
            const step = STEPS[Number(steps[index] ?? NaN)];
            return (
              <TableRow key={index}>
                <TableCell sx={{ whiteSpace: 'nowrap' }}>{index} {one?.level && one.level !== 'ok' && <State of="backpressure" is={one.level} />}</TableCell>
                <TableCell sx={{ width: 78 }}>{one && <TimeBar of={one} />}</TableCell>
                <TableCell align="right">{perSecond(one?.recordsInPerS)}</TableCell>
                <TableCell align="right">{perSecond(one?.recordsOutPerS)}</TableCell>
                <TableCell align="right">{bytes(one?.stateBytes)}</TableCell>
                <TableCell>{step && <State of="wavefront" is={step} />}</TableCell>
              </TableRow>
            );
          })}
        </TableBody>
      </Table>
    </Box>
  );
}

/** Busy, back-pressured, queued and idle as shares of a bar; in words for who cannot see it, and on pointing at it. */
function TimeBar({ of }: { of: SubtaskFigures }) {
  if (of.busy === null) return <>–</>;
  const said = TIMES.map((time) => `${time === 'backpressured' ? 'back-pressured' : time} ${percent(of[time])}`).join(', ');
  return (
    <div className="weir-times" role="img" aria-label={said} title={said}>
      {TIMES.map((time) => <i key={time} className={time} style={{ width: `${100 * (of[time] ?? 0)}%` }} />)}
    </div>
  );
}

function Times() {
  return (
    <Box sx={{ display: 'flex', gap: 1.5, px: 1.5, py: 0.5, color: 'text.secondary' }}>
      {TIMES.map((time) => (
        <Box key={time} component="span" sx={{ display: 'inline-flex', alignItems: 'center', gap: 0.5 }}>
          <i className="weir-swatch" style={{ background: time === 'idle' ? 'var(--weir-divider)' : `var(--weir-time-${time})` }} />
          {time === 'backpressured' ? 'back-pressured' : time}
        </Box>
      ))}
    </Box>
  );
}
