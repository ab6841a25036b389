/** Components that a page shows instead of data, if there is no data, if data is loading, or after an error. */
import { Alert, AlertTitle, Box, Button, CircularProgress, Typography } from '@mui/material';
import type { ReactNode } from 'react';
import type { UseQueryResult } from '@tanstack/react-query';

import { ApiProblem } from '../api/problem';

/** Shown for an empty list. `children` is a text that says what will appear in the list and how the user can fill the list. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Box sx={{ py: 4, px: 2, textAlign: 'center', color: 'text.secondary' }}>
      <Typography component="p" sx={{ fontWeight: 600, color: 'text.primary' }}>{title}</Typography>
      {children && <Typography component="p" sx={{ mt: 0.5, maxWidth: 560, mx: 'auto' }}>{children}</Typography>}
    </Box>
  );
}

/** Shown while data is loading. The component is as high as the loaded data will be, so that the layout does not shift. */
export function LoadingState({ label = 'Loading', height = 120 }: { label?: string; height?: number }) {
  return (
    <Box role="status" aria-label={label} sx={{ minHeight: height, display: 'grid', placeItems: 'center' }}>
      {/* The spinner is delayed, so that a fast response shows no spinner. */}
      <CircularProgress size={22} thickness={5} sx={{ opacity: 0, animation: 'weir-late 0.2s 0.3s forwards', '@keyframes weir-late': { to: { opacity: 1 } } }} />
    </Box>
  );
}

/** Shown for an error, with the message and the next step from the API. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const problem = error instanceof ApiProblem ? error : null;
  const unreachable = problem?.unreachable ?? false;
  return (
    <Alert
      severity={unreachable ? 'warning' : 'error'}
      variant="outlined"
      sx={{ m: 1.5 }}
      action={onRetry && <Button color="inherit" size="small" onClick={onRetry}>Retry</Button>}
    >
      <AlertTitle>{unreachable ? 'API unreachable' : problem?.status === 404 ? 'Not found' : 'Request failed'}</AlertTitle>
      {problem ? problem.message : 'An unexpected error occurred. Reload the page. If the error persists, report it to your administrator.'}
      {problem?.requestId && <Box sx={{ mt: 0.5, opacity: 0.8, fontSize: '0.85em' }}>Request {problem.requestId}</Box>}
    </Alert>
  );
}

/** Shows the data of a query, or its loading or error state. If a refetch fails, the old data stays visible below the error. */
export function QueryContent<Data>({ query, height, children }: { query: UseQueryResult<Data>; height?: number; children: (data: Data) => ReactNode }) {
  const retry = (): void => void query.refetch();
  if (query.data === undefined) return query.error ? <ErrorState error={query.error} onRetry={retry} /> : <LoadingState {...(height ? { height } : {})} />;
  return (
    <>
      {query.error && <ErrorState error={query.error} onRetry={retry} />}
      {children(query.data)}
    </>
  );
}
