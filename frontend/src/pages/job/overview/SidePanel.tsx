import CloseIcon from '@mui/icons-material/Close';
import { Box, IconButton, Typography } from '@mui/material';
import { memo, useId } from 'react';

import { bytes, percent, perSecond } from '../../../format';
import { PlainTable } from '../../../shared/PlainTable';
import { State } from '../../../shared/State';
import type { ChainFigures, SubtaskFigures } from './figures';
import { nameOf, type Chain } from './graph';
import { useWave } from './waveSource';
import { stepsOf, STEPS, type Step } from './wavefront';

const TIMES = ['busy', 'backpressured', 'queued', 'idle'] as const;

/** What the chosen operators are, and what each of their subtasks does. */
export function SidePanel({ chain, figures, onClose }: { chain: Chain; figures: ChainFigures | undefined; onClose: () => void }) {
  const heading = useId();
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
      <Box sx={{ '& table td, & table th': { px: 0.75, py: '3px', fontSize: '0.76rem' } }}>
        <PlainTable>
          <thead>
            <tr>
              <th scope="col">Subtask</th><th scope="col">Time</th><th scope="col" className="number">In</th><th scope="col" className="number">Out</th>
              <th scope="col" className="number">State</th><th scope="col">Barrier</th>
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: chain.parallelism }, (_, index) => <Subtask key={index} index={index} of={figures?.subtasks[index]} step={STEPS[Number(steps[index] ?? NaN)]} />)}
          </tbody>
        </PlainTable>
      </Box>
    </Box>
  );
}

const Subtask = memo(function Subtask({ index, of, step }: { index: number; of: SubtaskFigures | undefined; step: Step | undefined }) {
  return (
    <tr>
      <td style={{ whiteSpace: 'nowrap' }}>{index} {of?.level && of.level !== 'ok' && <State of="backpressure" is={of.level} />}</td>
      <td style={{ width: 78 }}>{of && <TimeBar of={of} />}</td>
      <td className="number">{perSecond(of?.recordsInPerS)}</td>
      <td className="number">{perSecond(of?.recordsOutPerS)}</td>
      <td className="number">{bytes(of?.stateBytes)}</td>
      <td>{step && <State of="wavefront" is={step} />}</td>
    </tr>
  );
});

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
