/** The colours of states as variables for overview.css. Pure. */
import type { Theme } from '@mui/material';
import type { CSSProperties } from 'react';

import { coloursOf, STATES, type Mode, type StateKind, type StateOf } from '../../../look/states';

/** Windows in which the side panel stands below the graph: beside it there would not be room for both. */
export const NARROW = '@media (max-width: 1399.95px)';

const KINDS = { backpressure: 'backpressure', wavefront: 'wave', time: 'time' } as const;

export function variablesOf(mode: Mode, palette: Theme['palette']): CSSProperties {
  const found: Record<string, string> = {
    '--weir-text': palette.text.primary, '--weir-secondary': palette.text.secondary, '--weir-divider': palette.divider, '--weir-line': palette.text.secondary,
    '--weir-paper': palette.background.paper, '--weir-ground': palette.background.default, '--weir-primary': palette.primary.main,
  };
  for (const [kind, name] of Object.entries(KINDS)) {
    for (const state of Object.keys(STATES[kind as StateKind])) {
      const { ink, ground } = coloursOf(kind as StateKind, state as StateOf<StateKind>, mode);
      found[`--weir-${name}-${state}`] = ink;
      found[`--weir-${name}-${state}-ground`] = ground;
    }
  }
  return found;
}
