import { Box } from '@mui/material';
import type { ReactNode } from 'react';

import { cellPath, STEP_FILL } from './layout';
import { STEPS } from '../wavefront/wavefront';
import { useWavefront } from '../wavefront/wavefrontSource';

const ONE = { size: 11, step: 11, columns: 1, rows: 1 };
const LEVELS = { ok: 'ok, up to 10 %', low: 'low, up to 50 %', high: 'high' } as const;

/** Explains the cells and colours of the graph. The legend includes barrier steps only while a checkpoint is shown. */
export function Legend() {
  const barriers = useWavefront((wave) => wave !== null);
  return (
    <Box sx={{ display: 'flex', flexWrap: 'wrap', columnGap: 3, rowGap: 0.5, px: 2, py: 0.75, color: 'text.secondary', fontSize: '0.76rem', borderTop: 1, borderColor: 'divider' }}>
      {barriers && <Barriers />}
      <Group name="Pressure (backpressured or queued), worst subtask">
        {Object.entries(LEVELS).map(([level, label]) => (
          <Item key={level} label={label}><i className="weir-swatch" style={{ background: `var(--weir-backpressure-${level})` }} /></Item>
        ))}
      </Group>
    </Box>
  );
}

function Barriers() {
  return (
    <>
      <Group name="Barrier">
        {STEPS.map((step, at) => (
          <Item key={step} label={step}>
            <svg className="weir-cells" width={11} height={11} aria-hidden>
              <path className="frame" d={cellPath(ONE, 1, () => true, 1)} />
              {at > 0 && <path className={step} d={cellPath(ONE, 1, () => true, STEP_FILL[at]!)} />}
            </svg>
          </Item>
        ))}
      </Group>
      <Group name="Channel">
        <Item label="blocked by a barrier, or with a barrier in flight">
          <svg className="weir-channel" data-blocked width={24} height={11} aria-hidden><path d="M0 5.5H22" /></svg>
        </Item>
      </Group>
    </>
  );
}

function Group({ name, children }: { name: string; children: ReactNode }) {
  return <Box sx={{ display: 'flex', gap: 1.25, flexWrap: 'wrap' }}><span>{name}:</span>{children}</Box>;
}

function Item({ label, children }: { label: string; children: ReactNode }) {
  return <Box component="span" sx={{ display: 'inline-flex', alignItems: 'center', gap: 0.6 }}>{children}{label}</Box>;
}
