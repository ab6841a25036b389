import { Box, Typography } from '@mui/material';
import { createContext, type ReactNode, use, useEffect, useState } from 'react';

interface Props {
  title: string;
  /** The open section, if the page has several sections. The section precedes the title in the browser's tab and history. */
  section?: string;
  /** Content that is shown next to the title, such as a state. */
  titleAddon?: ReactNode;
  /** The buttons at the right of the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of every page, with the title (the only h1), actions and content. */
export function Page({ title, section, titleAddon, actions, children }: Props) {
  const [detail, setDetail] = useState<string | null>(null);
  useEffect(() => {
    document.title = [detail, section, title, 'Weir'].filter(Boolean).join(' · ');
  }, [detail, section, title]);
  return (
    <Box sx={{ px: { xs: 1.5, md: 2.5 }, py: 2, display: 'flex', flexDirection: 'column', gap: 2, minWidth: 0 }}>
      <Box component="header" sx={{ display: 'flex', alignItems: 'center', gap: 1.5, flexWrap: 'wrap', minHeight: 34 }}>
        <Typography variant="h1" sx={{ overflowWrap: 'anywhere' }}>{title}</Typography>
        {titleAddon}
        <Box sx={{ ml: 'auto', display: 'flex', gap: 1, flexWrap: 'wrap' }}>{actions}</Box>
      </Box>
      <TitleContext value={setDetail}>{children}</TitleContext>
    </Box>
  );
}

/** A function that adds the name of a displayed detail to the document title. Null means that the page shows no detail. */
const TitleContext = createContext<(name: string | null) => void>(() => {});

/** Put a name at the start of the document title while the component is mounted. Use this hook for details that have their own URL. */
export function useTitle(name: string): void {
  const setDetail = use(TitleContext);
  useEffect(() => {
    setDetail(name);
    return () => setDetail(null);
      }, [name, setDetail]);
}
