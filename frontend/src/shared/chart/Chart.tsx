import { Box, Typography } from '@mui/material';
import { lazy, Suspense } from 'react';

import { Waiting } from '../Standins';
import type { Option } from './option';

const Drawing = lazy(() => import('./Drawing'));

interface Props {
  /** Above the chart. */
  title?: string;
  /** What it shows, in a sentence, for who cannot see it. */
  label: string;
  /** The same object as long as nothing has changed: `useMemo`. */
  option: Option;
  height?: number;
}

/** A chart by echarts, which is loaded by the first one. What it looks like is a pure function beside the page. */
export function Chart({ title, label, option, height = 170 }: Props) {
  return (
    <Box component="figure" sx={{ m: 0, minWidth: 0 }}>
      {title && <Typography component="figcaption" variant="h3" sx={{ mb: 0.5 }}>{title}</Typography>}
      <Box role="img" aria-label={label}>
        <Suspense fallback={<Waiting what="Loading the chart" height={height} />}>
          <Drawing option={option} height={height} />
        </Suspense>
      </Box>
    </Box>
  );
}
