/** Converts state colours to CSS variables for graph.css. Pure. */
import type { Theme } from '@mui/material';
import type { CSSProperties } from 'react';

import { coloursOf, STATES, type Mode, type StateKind, type StateOf } from '../../../../theme/states';

/** A media query for narrow windows, in which the chain panel is below the graph. */
export const NARROW_WINDOW = '@media (max-width: 1399.95px)';

const KINDS = { backpressure: 'backpressure', wavefront: 'wave', time: 'time' } as const;

export function cssVariables(mode: Mode, palette: Theme['palette']): CSSProperties {
  const variables: Record<string, string> = {
    '--weir-text': palette.text.primary, '--weir-secondary': palette.text.secondary, '--weir-divider': palette.divider, '--weir-line': palette.text.secondary,
    '--weir-paper': palette.background.paper, '--weir-ground': palette.background.default, '--weir-primary': palette.primary.main,
  };
  for (const [kind, name] of Object.entries(KINDS)) {
    for (const state of Object.keys(STATES[kind as StateKind])) {
      const { ink, ground } = coloursOf(kind as StateKind, state as StateOf<StateKind>, mode);
      variables[`--weir-${name}-${state}`] = ink;
      variables[`--weir-${name}-${state}-ground`] = ground;
    }
  }
  return variables;
}
