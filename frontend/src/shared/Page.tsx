import { Box, Typography } from '@mui/material';
import { useEffect, type ReactNode } from 'react';

interface Props {
  title: string;
  /** Beside the title: states, facts. */
  beside?: ReactNode;
  /** At the right: what can be done. */
  actions?: ReactNode;
  children: ReactNode;
}

/** What every page is: a heading (the only h1), what can be done, and its content. */
export function Page({ title, beside, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Weir`;
  }, [title]);
  return (
    <Box sx={{ px: { xs: 1.5, md: 2.5 }, py: 2, display: 'flex', flexDirection: 'column', gap: 2, minWidth: 0 }}>
      <Box component="header" sx={{ display: 'flex', alignItems: 'center', gap: 1.5, flexWrap: 'wrap', minHeight: 34 }}>
        <Typography variant="h1" sx={{ overflowWrap: 'anywhere' }}>{title}</Typography>
        {beside}
        <Box sx={{ ml: 'auto', display: 'flex', gap: 1, flexWrap: 'wrap' }}>{actions}</Box>
      </Box>
      {children}
    </Box>
  );
}
