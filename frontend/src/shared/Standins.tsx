/** What stands where data should be: none yet, on its way, refused, out of reach. Each says what to do next. */
import { Alert, AlertTitle, Box, Button, CircularProgress, Typography } from '@mui/material';
import type { ReactNode } from 'react';

import { ApiProblem } from '../api/problem';

/** There is nothing, and that is all right. `children`: how something would come here. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Box sx={{ py: 4, px: 2, textAlign: 'center', color: 'text.secondary' }}>
      <Typography component="p" sx={{ fontWeight: 600, color: 'text.primary' }}>{title}</Typography>
      {children && <Typography component="p" sx={{ mt: 0.5, maxWidth: 560, mx: 'auto' }}>{children}</Typography>}
    </Box>
  );
}

/** On its way. It holds its place, so that nothing jumps when it is there. */
export function Waiting({ what = 'Loading', height = 120 }: { what?: string; height?: number }) {
  return (
    <Box role="status" aria-label={what} sx={{ minHeight: height, display: 'grid', placeItems: 'center' }}>
      {/* Not at once: what comes in a tenth of a second needs no announcement. */}
      <CircularProgress size={22} thickness={5} sx={{ opacity: 0, animation: 'weir-late 0.2s 0.3s forwards', '@keyframes weir-late': { to: { opacity: 1 } } }} />
    </Box>
  );
}

/** Refused, failed or out of reach: the backend's own sentence and next step. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const problem = error instanceof ApiProblem ? error : null;
  const unreachable = problem?.unreachable ?? false;
  return (
    <Alert
      severity={unreachable ? 'warning' : 'error'}
      variant="outlined"
      sx={{ m: 1.5 }}
      action={onRetry && <Button color="inherit" size="small" onClick={onRetry}>Try again</Button>}
    >
      <AlertTitle>{unreachable ? 'The control plane is out of reach' : problem?.status === 404 ? 'It is not there' : 'That did not work'}</AlertTitle>
      {problem ? problem.message : 'Something is wrong with this page. Reload it; if it stays so, tell whoever runs Weir what you did.'}
      {problem?.requestId && <Box sx={{ mt: 0.5, opacity: 0.8, fontSize: '0.85em' }}>Request {problem.requestId}</Box>}
    </Alert>
  );
}
