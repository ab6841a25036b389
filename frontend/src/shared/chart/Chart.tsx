import { Box, Typography } from '@mui/material';
import { lazy, Suspense } from 'react';

import { LoadingState } from '../DataStates';
import type { Option } from './option';

const Drawing = lazy(() => import('./EChart'));

interface Props {
  /** The title above the chart. */
  title?: string;
  /** One sentence that describes the chart for screen readers. */
  label: string;
  /** The option of the chart. The option must be memoised, so that it is the same object until the data changes. */
  option: Option;
  height?: number;
}

/** An echarts chart. The first chart of a page loads echarts. Each page has pure functions that compute the options of its charts. */
export function Chart({ title, label, option, height = 170 }: Props) {
  return (
    <Box component="figure" sx={{ m: 0, minWidth: 0 }}>
      {title && <Typography component="figcaption" variant="h3" sx={{ mb: 0.5 }}>{title}</Typography>}
      <Box role="img" aria-label={label}>
        <Suspense fallback={<LoadingState label="Loading chart" height={height} />}>
          <Drawing option={option} height={height} />
        </Suspense>
      </Box>
    </Box>
  );
}
