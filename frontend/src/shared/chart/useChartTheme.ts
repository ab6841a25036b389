import { useTheme } from '@mui/material';
import { useMemo } from 'react';

import { FONT } from '../../theme/theme';
import type { ChartTheme } from './option';

/** Return the chart colours of the current theme. The result is the same object until the theme changes. */
export function useChartTheme(): ChartTheme {
  const { palette } = useTheme();
  const { mode, divider } = palette;
  const { primary, secondary } = palette.text;
  const { paper } = palette.background;
  return useMemo(() => ({ mode, text: primary, secondaryText: secondary, gridLine: divider, background: paper, font: FONT }), [mode, primary, secondary, divider, paper]);
}
