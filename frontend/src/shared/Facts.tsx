import { Box } from '@mui/material';
import type { ReactNode } from 'react';

import { NOTHING } from '../format';

/** Names and values, as a list of definitions. What is null or empty is shown as not known. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <Box
      component="dl"
      sx={{ m: 0, display: 'grid', gridTemplateColumns: 'minmax(110px, max-content) minmax(0, 1fr)', columnGap: 3, rowGap: 0.6 }}
    >
      {of.map(([name, value]) => (
        <Box key={name} sx={{ display: 'contents' }}>
          <Box component="dt" sx={{ color: 'text.secondary' }}>{name}</Box>
          <Box component="dd" sx={{ m: 0, minWidth: 0, overflowWrap: 'anywhere' }}>{value === null || value === undefined || value === '' ? NOTHING : value}</Box>
        </Box>
      ))}
    </Box>
  );
}
