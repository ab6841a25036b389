import { Box, useTheme } from '@mui/material';

import { coloursOf, type StateKind, type StateOf } from '../look/states';

interface Props<Kind extends StateKind> {
  /** What kind of state: `run`, `checkpoint`, `health`, … */
  of: Kind;
  is: StateOf<Kind>;
  /** Said instead of the state's own word. */
  label?: string;
}

/** A state as a word on its colour: `<State of="run" is="RUNNING" />`. */
export function State<Kind extends StateKind>({ of, is, label }: Props<Kind>) {
  const { palette } = useTheme();
  const { ink, ground } = coloursOf(of, is, palette.mode);
  return (
    <Box
      component="span"
      data-state={is}
      sx={{
        display: 'inline-flex', alignItems: 'center', gap: '6px', px: '7px', py: '1px', borderRadius: '10px', whiteSpace: 'nowrap',
        fontSize: '0.78rem', fontWeight: 600, lineHeight: 1.6, color: ink, backgroundColor: ground,
      }}
    >
      <Box component="span" aria-hidden sx={{ width: 7, height: 7, borderRadius: '50%', backgroundColor: 'currentColor', flexShrink: 0 }} />
      {label ?? words(is)}
    </Box>
  );
}

/** IN_PROGRESS: in progress. */
export function words(state: string): string {
  return state === state.toUpperCase() ? state.toLowerCase().replaceAll('_', ' ') : state;
}
