import { Box, Typography } from '@mui/material';
import { useEffect, useState, type ReactNode } from 'react';

import { TitleContext } from './useTitle';

interface Props {
  title: string;
  /** Which part of it is shown, where it has several: before the title in that of the document, by which tabs and histories of browsers are told apart. */
  part?: string;
  /** Beside the title: states, facts. */
  beside?: ReactNode;
  /** At the right: what can be done. */
  actions?: ReactNode;
  children: ReactNode;
}

/** What every page is: a heading (the only h1), what can be done, and its content. */
export function Page({ title, part, beside, actions, children }: Props) {
  const [shown, show] = useState<string | null>(null);
  useEffect(() => {
    document.title = [shown, part, title, 'Weir'].filter(Boolean).join(' · ');
  }, [shown, part, title]);
  return (
    <Box sx={{ px: { xs: 1.5, md: 2.5 }, py: 2, display: 'flex', flexDirection: 'column', gap: 2, minWidth: 0 }}>
      <Box component="header" sx={{ display: 'flex', alignItems: 'center', gap: 1.5, flexWrap: 'wrap', minHeight: 34 }}>
        <Typography variant="h1" sx={{ overflowWrap: 'anywhere' }}>{title}</Typography>
        {beside}
        <Box sx={{ ml: 'auto', display: 'flex', gap: 1, flexWrap: 'wrap' }}>{actions}</Box>
      </Box>
      <TitleContext value={show}>{children}</TitleContext>
    </Box>
  );
}
