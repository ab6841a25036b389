import { Box, Paper, Typography } from '@mui/material';
import { useId, type ReactNode } from 'react';

interface Props {
  title?: string;
  actions?: ReactNode;
  /** Whether to omit the padding, so that a table extends to the edges of the panel. */
  flush?: boolean;
  children: ReactNode;
}

/** A section of a page with a heading. */
export function Panel({ title, actions, flush = false, children }: Props) {
  const heading = useId();
  return (
    <Paper component="section" aria-labelledby={title ? heading : undefined} sx={{ overflow: 'hidden', minWidth: 0 }}>
      {(title || actions) && (
        <Box sx={{ display: 'flex', alignItems: 'center', gap: 1, px: 2, pt: 1.25, pb: flush ? 1 : 0.25 }}>
          <Typography id={heading} variant="h2">{title}</Typography>
          <Box sx={{ ml: 'auto', display: 'flex', gap: 1 }}>{actions}</Box>
        </Box>
      )}
      <Box sx={flush ? { overflowX: 'auto' } : { px: 2, py: 1.25 }}>{children}</Box>
    </Paper>
  );
}
