import CloseIcon from '@mui/icons-material/Close';
import { Box, IconButton, Link, Typography } from '@mui/material';
import { memo, useCallback, useId } from 'react';
import { Link as RouterLink } from 'react-router-dom';

import { bytes, percent, perSecond } from '../../../format';
import { LongTable, type Column } from '../../../shared/LongTable';
import { StateChip } from '../../../shared/StateChip';
import { useFocusHandoff } from '../../../shared/useFocusHandoff';
import { useCan } from '../../../auth/permissions';
import type { ChainMetrics, SubtaskMetrics } from './graph/chainMetrics';
import { chainTitle, operatorSubtitle, type Chain } from '../physicalGraph';
import { useJob } from '../useJob';
import { NARROW_WINDOW } from './graph/graphTheme';
import { useWavefront } from './wavefront/wavefrontSource';
import { chainSteps, STEPS, type Step } from './wavefront/wavefront';

const COLUMNS: readonly Column[] = [
  { title: 'Subtask', width: '92px' }, { title: 'Time', width: 'minmax(60px, 1fr)' }, { title: 'In', width: '64px', number: true }, { title: 'Out', width: '64px', number: true },
  { title: 'State', width: '72px', number: true }, { title: 'Barrier', width: '124px' },
];
/** If the panel is below the graph, its height is limited, so that part of the graph stays visible. */
const BELOW = { width: 'auto', borderLeft: 0, borderTop: 1, borderColor: 'divider', maxHeight: 'max(220px, 38vh)' } as const;
const TIMES = ['busy', 'backpressured', 'queued', 'idle'] as const;

/** Shows the operators of the selected chain and the metrics of each of its subtasks. */
export function ChainPanel({ chain, metrics, onClose }: { chain: Chain; metrics: ChainMetrics | undefined; onClose: () => void }) {
  const heading = useId();
  const handOver = useFocusHandoff(() => document.querySelector<HTMLElement>(`.weir-graph .react-flow__node[data-id="${chain.index}"]`));
  const opened = useCallback((panel: HTMLElement | null) => {
    // Scroll to the panel, because a panel below the graph can open outside the visible area.
    panel?.scrollIntoView({ block: 'nearest' });
    return handOver(panel);
  }, [handOver]);
  const steps = useWavefront((wave) => (wave ? chainSteps(wave, chain.index) : ''));
  return (
    <Box
      ref={opened}
      component="aside"
      aria-labelledby={heading}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
      sx={{ width: 480, flexShrink: 0, borderLeft: 1, borderColor: 'divider', overflow: 'auto', maxHeight: 'max(400px, calc(100vh - 330px))', fontSize: '0.8rem', [NARROW_WINDOW]: BELOW }}
    >
      <Box sx={{ display: 'flex', alignItems: 'flex-start', px: 1.5, pt: 1 }}>
        <Typography id={heading} variant="h3" sx={{ overflowWrap: 'anywhere', pt: 0.5 }}>{chainTitle(chain)}</Typography>
        <IconButton size="small" aria-label="Close" onClick={onClose} sx={{ ml: 'auto' }}><CloseIcon fontSize="small" /></IconButton>
      </Box>
      <Box component="ul" sx={{ m: 0, px: 1.5, py: 0.5, listStyle: 'none', color: 'text.secondary' }}>
        {chain.operators.map((operator) => (
          <li key={operator.uid}>
            <Box component="b" sx={{ color: 'text.primary', fontWeight: 600 }}>{operator.uid}</Box> {[operatorSubtitle(operator), operator.stateful && 'stateful', operator.site].filter(Boolean).join(', ')}
          </li>
        ))}
      </Box>
      <ProfileLink slot={metrics?.busiest?.index ?? null} />
      <Times />
      <Box sx={{ '& [role=row] > [role]': { px: 0.75, py: '3px', fontSize: '0.76rem' } }}>
        <LongTable columns={COLUMNS}>
          {Array.from({ length: chain.parallelism }, (_, index) => <Subtask key={index} index={index} of={metrics?.subtasks[index]} step={STEPS[Number(steps[index] ?? NaN)]} />)}
        </LongTable>
      </Box>
    </Box>
  );
}

/** A link to the profiler. `slot` is the index of the busiest subtask, because slot N runs the subtasks with the index N. */
function ProfileLink({ slot }: { slot: number | null }) {
  const { id } = useJob();
  const mayOperate = useCan('operate');
  if (!mayOperate || slot === null) return null;
  return (
    <Box sx={{ px: 1.5, pb: 0.5 }}>
      <Link component={RouterLink} to={`/jobs/${id}/profiler?slot=${slot}`} underline="always">Profile slot {slot}, which runs the busiest subtask</Link>
    </Box>
  );
}

const Subtask = memo(function Subtask({ index, of, step }: { index: number; of: SubtaskMetrics | undefined; step: Step | undefined }) {
  return (
    <div role="row">
      <div role="rowheader" style={{ whiteSpace: 'nowrap' }}>{index} {of?.level && of.level !== 'ok' && <StateChip kind="backpressure" state={of.level} />}</div>
      <div role="cell">{of && <TimeBar of={of} />}</div>
      <div role="cell" className="number">{perSecond(of?.recordsInPerS)}</div>
      <div role="cell" className="number">{perSecond(of?.recordsOutPerS)}</div>
      <div role="cell" className="number">{bytes(of?.stateBytes)}</div>
      <div role="cell">{step && <StateChip kind="wavefront" state={step} />}</div>
    </div>
  );
});

/** A bar that shows the shares of busy, backpressured, queued and idle time. The accessible name of the bar contains the shares as text. */
function TimeBar({ of }: { of: SubtaskMetrics }) {
  if (of.busy === null) return <>–</>;
  const label = TIMES.map((time) => `${time} ${percent(of[time])}`).join(', ');
  return (
    <div className="weir-times" role="img" aria-label={label} title={label}>
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
          {time}
        </Box>
      ))}
    </Box>
  );
}
