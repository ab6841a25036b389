import { Box } from '@mui/material';
import { useMemo } from 'react';

import type { Schemas } from '../../../api/types';
import { Answered } from '../../../shared/Answered';
import { Chart } from '../../../shared/chart/Chart';
import { useInk } from '../../../shared/chart/useInk';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { trendsOf } from './trends';
import { useSeries } from './useSeries';

export function Trends() {
  const query = useSeries();
  return (
    <Panel title="Trends">
      <Answered query={query} height={420}>
        {({ checkpoints }) => (checkpoints.length < 2 ? <Empty title="There is nothing to compare yet">From the second completed checkpoint on.</Empty> : <Charts of={checkpoints} />)}
      </Answered>
    </Panel>
  );
}

function Charts({ of }: { of: Schemas['CheckpointSeriesBody']['checkpoints'] }) {
  const ink = useInk();
  const trends = useMemo(() => trendsOf(of, ink), [of, ink]);
  return (
    <Box sx={{ display: 'grid', gridTemplateColumns: { xs: '1fr', md: '1fr 1fr' }, gap: 2 }}>
      {trends.map(({ title, label, option }) => <Chart key={title} title={title} label={label} option={option} />)}
    </Box>
  );
}
