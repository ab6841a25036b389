import { Box } from '@mui/material';
import type { ComponentProps } from 'react';
import type { Layout } from 'react-admin';

import { Failure } from '../shared/Standins';

/** What a page that has failed to draw itself is replaced by. The menu stays. */
type Props = ComponentProps<NonNullable<ComponentProps<typeof Layout>['error']>> & { resetErrorBoundary?: () => void };

export function Trouble({ error, resetErrorBoundary }: Props) {
  return (
    <Box sx={{ p: 2 }}>
      <Failure error={error} onRetry={resetErrorBoundary} />
    </Box>
  );
}
