import { Box, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useMemo } from 'react';
import { useStore } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { Chart } from '../../../shared/chart/Chart';
import type { Scale } from '../../../shared/chart/option';
import { useChartTheme } from '../../../shared/chart/useChartTheme';
import { Panel } from '../../../shared/Panel';
import { trendCharts } from './trends';
import { useCheckpointSeries } from './useCheckpoints';

export function TrendCharts() {
  const query = useCheckpointSeries();
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
      <QueryContent query={query} height={420}>
        {({ checkpoints }) => (checkpoints.length < 2 ? <EmptyState title="No trends yet">Trends appear here after two completed checkpoints.</EmptyState> : <Charts of={checkpoints} scale={scale} />)}
      </QueryContent>
    </Panel>
  );
}

const SCALES: readonly Scale[] = ['linear', 'logarithmic'];

function Charts({ of, scale }: { of: Schemas['CheckpointSeriesRead']['checkpoints']; scale: Scale }) {
  const ink = useChartTheme();
  const trends = useMemo(() => trendCharts(of, ink, scale), [of, ink, scale]);
  return (
    <Box sx={{ display: 'grid', gridTemplateColumns: { xs: '1fr', md: '1fr 1fr' }, gap: 2 }}>
      {trends.map(({ title, label, option }) => <Chart key={`${title}, ${scale}`} title={title} label={label} option={option} />)}
    </Box>
  );
}
