import { Box, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useMemo } from 'react';
import { useStore } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { Answered } from '../../../shared/Answered';
import { Chart } from '../../../shared/chart/Chart';
import type { Scale } from '../../../shared/chart/option';
import { useInk } from '../../../shared/chart/useInk';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { trendsOf } from './trends';
import { useSeries } from './useSeries';

export function Trends() {
  const query = useSeries();
  const [scale, setScale] = useStore<Scale>('checkpoints.trends.scale', 'linear');
  return (
    <Panel
      title="Trends"
      actions={
        <ToggleButtonGroup size="small" exclusive aria-label="Scale" value={scale} onChange={(_, chosen: Scale | null) => setScale(chosen ?? scale)}>
          {SCALES.map((one) => <ToggleButton key={one} value={one} sx={{ py: 0.25 }}>{one}</ToggleButton>)}
        </ToggleButtonGroup>
      }
    >
      <Answered query={query} height={420}>
        {({ checkpoints }) => (checkpoints.length < 2 ? <Empty title="There is nothing to compare yet">From the second completed checkpoint on.</Empty> : <Charts of={checkpoints} scale={scale} />)}
      </Answered>
    </Panel>
  );
}

const SCALES: readonly Scale[] = ['linear', 'logarithmic'];

function Charts({ of, scale }: { of: Schemas['CheckpointSeriesBody']['checkpoints']; scale: Scale }) {
  const ink = useInk();
  const trends = useMemo(() => trendsOf(of, ink, scale), [of, ink, scale]);
  return (
    <Box sx={{ display: 'grid', gridTemplateColumns: { xs: '1fr', md: '1fr 1fr' }, gap: 2 }}>
      {trends.map(({ title, label, option }) => <Chart key={`${title}, ${scale}`} title={title} label={label} option={option} />)}
    </Box>
  );
}
