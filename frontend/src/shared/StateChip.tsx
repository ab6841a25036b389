import { Box, useTheme } from '@mui/material';

import { coloursOf, type StateKind, type StateOf } from '../theme/states';

interface Props<Kind extends StateKind> {
  /** The kind of state, such as `run`, `checkpoint` or `health`. */
  kind: Kind;
  state: StateOf<Kind>;
  /** A text that is shown instead of the name of the state. */
  label?: string;
}

/** A chip with the name of a state, in the text and background colours of the state. Example: `<StateChip kind="run" state="RUNNING" />`. */
export function StateChip<Kind extends StateKind>({ kind, state, label }: Props<Kind>) {
  const { palette } = useTheme();
  const { ink, ground } = coloursOf(kind, state, palette.mode);
  return (
    <Box
      component="span"
      data-state={state}
      sx={{
        display: 'inline-flex', alignItems: 'center', gap: '6px', px: '7px', py: '1px', borderRadius: '10px', whiteSpace: 'nowrap',
        fontSize: '0.78rem', fontWeight: 600, lineHeight: 1.6, color: ink, backgroundColor: ground,
      }}
    >
      <Box component="span" aria-hidden sx={{ width: 7, height: 7, borderRadius: '50%', backgroundColor: 'currentColor', flexShrink: 0 }} />
      {/* CSS shows the text in sentence case. The text itself is the same as in the API, the CLI and the logs. */}
      <Box component="span" sx={{ display: 'inline-block', '&::first-letter': { textTransform: 'uppercase' } }}>{label ?? stateLabel(state)}</Box>
    </Box>
  );
}

/** Return the name of a state as text, such as `in progress` for IN_PROGRESS. */
export function stateLabel(state: string): string {
  return (state === state.toUpperCase() ? state.toLowerCase() : state).replaceAll('_', ' ');
}
