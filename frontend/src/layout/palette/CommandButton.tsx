import SearchIcon from '@mui/icons-material/Search';
import { Box, Button } from '@mui/material';
import { lazy, Suspense, useEffect, useState } from 'react';

const CommandPalette = lazy(() => import('./CommandPalette'));

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Opens the command palette, also with Ctrl-K or Cmd-K. */
export function CommandButton() {
  const [state, setState] = useState<'not opened' | 'open' | 'closed'>('not opened');
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      // Another dialog keeps the focus. An element in full screen would hide the palette.
      if (document.querySelector('[role=dialog]') || document.fullscreenElement) return;
      setState('open');
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <Button color="inherit" size="small" startIcon={<SearchIcon />} aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K" onClick={() => setState('open')} sx={{ mr: 1, fontWeight: 400 }}>
        Search <Box component="kbd" aria-hidden sx={{ ml: 1, px: 0.5, border: 1, borderRadius: 0.5, fontSize: '0.75rem', fontFamily: 'inherit' }}>{IS_MAC ? '⌘K' : 'Ctrl K'}</Box>
      </Button>
      {state !== 'not opened' && <Suspense fallback={null}><CommandPalette open={state === 'open'} onClose={() => setState('closed')} /></Suspense>}
    </>
  );
}
