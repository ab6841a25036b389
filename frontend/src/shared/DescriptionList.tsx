import { Box } from '@mui/material';
import type { ReactNode } from 'react';

import { NO_VALUE } from '../format';

/** A list of names and values. Null and empty values are shown as `–`. */
export function DescriptionList({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <Box
      component="dl"
      sx={{ m: 0, display: 'grid', gridTemplateColumns: 'minmax(110px, max-content) minmax(0, 1fr)', columnGap: 3, rowGap: 0.6 }}
    >
      {items.map(([name, value]) => (
        <Box key={name} sx={{ display: 'contents' }}>
          <Box component="dt" sx={{ color: 'text.secondary' }}>{name}</Box>
          <Box component="dd" sx={{ m: 0, minWidth: 0, overflowWrap: 'anywhere' }}>{value === null || value === undefined || value === '' ? NO_VALUE : value}</Box>
        </Box>
      ))}
    </Box>
  );
}
