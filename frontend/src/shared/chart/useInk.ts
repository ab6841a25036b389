import { useTheme } from '@mui/material';
import { useMemo } from 'react';

import { FONT } from '../../look/theme';
import type { Ink } from './option';

/** The theme's part of a chart; the same object until the theme changes. */
export function useInk(): Ink {
  const { palette } = useTheme();
  const { mode, divider } = palette;
  const { primary, secondary } = palette.text;
  const { paper } = palette.background;
  return useMemo(() => ({ mode, text: primary, faint: secondary, line: divider, paper, font: FONT }), [mode, primary, secondary, divider, paper]);
}
