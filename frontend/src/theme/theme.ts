import { defaultTheme, type RaThemeOptions } from 'react-admin';

import { PAPER, type Mode } from './states';

export const FONT = '"Inter Variable", Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace';

/** The keyboard focus ring. MUI removes outlines and shows a ripple that is hard to see. */
const ring = (colour: string, outlineOffset: number) => ({ '&.Mui-focusVisible, &:focus-visible': { outline: `2px solid ${colour}`, outlineOffset } });

const INK = {
  light: { text: '#18212b', secondary: '#4d5967', divider: '#dde2e8', ground: '#f4f6f8', primary: '#1657a8', secondaryAccent: '#07616e' },
  dark: { text: '#e1e7ee', secondary: '#a3afbd', divider: '#2a323c', ground: '#0f1318', primary: '#8abaf5', secondaryAccent: '#6fcbd6' },
} as const;

/** The colours of error notifications. MUI's red is too light for white text in the dark theme. */
export const ERROR_NOTIFICATION = { backgroundColor: '#d32f2f', color: '#ffffff' };

/** The theme is dense and has few colours. Only states are coloured (states.ts). */
function theme(mode: Mode): RaThemeOptions {
  const ink = INK[mode];
  return {
    ...defaultTheme,
    palette: {
      mode,
      primary: { main: ink.primary },
      secondary: { main: ink.secondaryAccent },
      background: { default: ink.ground, paper: PAPER[mode] },
      text: { primary: ink.text, secondary: ink.secondary },
      divider: ink.divider,
    },
    shape: { borderRadius: 6 },
    sidebar: { width: 196, closedWidth: 52 },
    spacing: 8,
    typography: {
      fontFamily: FONT,
      fontSize: 13,
      h1: { fontSize: '1.35rem', fontWeight: 650, letterSpacing: '-0.01em' },
      h2: { fontSize: '1.05rem', fontWeight: 650 },
      h3: { fontSize: '0.92rem', fontWeight: 650 },
      body1: { fontSize: '0.86rem' },
      body2: { fontSize: '0.83rem' },
      h6: { fontSize: '1rem', fontWeight: 650 },
      button: { textTransform: 'none', fontWeight: 600 },
    },
    components: {
      ...defaultTheme.components,
      MuiCssBaseline: {
        styleOverrides: {
          // Use tabular digits for numbers that change or are aligned. Do not use tabular digits for names, because names would look uneven.
          'time, td.MuiTableCell-alignRight, .MuiTablePagination-root': { fontVariantNumeric: 'tabular-nums' },
          'code, pre, kbd': { fontFamily: MONO, fontSize: '0.92em' },
          ':focus-visible': { outline: `2px solid ${ink.primary}`, outlineOffset: 2 },
          '@media (prefers-reduced-motion: reduce)': { '*': { animationDuration: '0.01ms !important', transitionDuration: '0.01ms !important' } },
        },
      },
      MuiPaper: { defaultProps: { elevation: 0 }, styleOverrides: { root: { backgroundImage: 'none' }, rounded: { border: `1px solid ${ink.divider}` } } },
      MuiAppBar: {
        defaultProps: { color: 'default', elevation: 0 },
        styleOverrides: { root: { backgroundColor: PAPER[mode], borderWidth: '0 0 1px', borderStyle: 'solid', borderColor: ink.divider, color: ink.text, boxShadow: 'none' } },
      },
      MuiTableCell: { styleOverrides: { root: { borderColor: ink.divider }, sizeSmall: { padding: '5px 12px' }, alignRight: { whiteSpace: 'nowrap' }, head: { color: ink.secondary, fontWeight: 600, lineHeight: 1.35 } } },
      MuiTextField: { defaultProps: { variant: 'outlined', size: 'small' } },
      MuiFormControl: { defaultProps: { variant: 'outlined', size: 'small' } },
      // By default, the link that skips the navigation is white text without a background.
      RaSkipNavigationButton: { styleOverrides: { root: { '&, &:hover': { backgroundColor: ink.primary, color: PAPER[mode], opacity: 1 } } } },
      RaNotification: { styleOverrides: { root: { '& .RaNotification-error': ERROR_NOTIFICATION } } },
      MuiButtonBase: { styleOverrides: { root: ring(ink.primary, 2) } },
      MuiLink: { defaultProps: { underline: 'hover' }, styleOverrides: { root: ring(ink.primary, 2) } },
      // The focus ring is inside the element, because the parent clips overflow.
      MuiMenuItem: { styleOverrides: { root: ring(ink.primary, -2) } },
      MuiTab: { styleOverrides: { root: { minHeight: 38, padding: '6px 12px', minWidth: 0, ...ring(ink.primary, -2) } } },
      MuiTabs: { styleOverrides: { root: { minHeight: 38 } } },
      MuiTooltip: { defaultProps: { arrow: true, enterDelay: 300 } },
      MuiButton: { defaultProps: { disableElevation: true } },
    },
  };
}

export const lightTheme = theme('light');
export const darkTheme = theme('dark');
