import { alpha, Box, type SxProps, type Theme } from '@mui/material';
import type { ReactNode } from 'react';

export interface Column {
  /** Above it; `said` for who cannot see it, where nothing stands there. */
  title?: ReactNode;
  said?: string;
  /** Of a CSS grid: rows know nothing of each other, so widths come from here alone. */
  width: string;
  number?: boolean;
}

/**
 * A table of hundreds of rows, by plain elements: `<div role="row">`, in it `<div role="cell">` and `role="rowheader"`, with `className="number"`
 * at the right. It looks like the others. But no component is made for each of thousands of cells; rows are laid out each for itself, so a new
 * one costs nothing for those above and below; and those that nobody sees are not laid out at all.
 *
 * A row may be `aside` (what is behind another one) or `chosen`; a cell `deeper` than the one above, or `name`, which is cut off where it is
 * too long. `open` is a button for what is behind a row. `dense`: without lines between rows.
 */
export function LongTable({ columns, dense = false, children }: { columns: readonly Column[]; dense?: boolean; children: ReactNode }) {
  return (
    <Box role="table" className={dense ? 'dense' : undefined} sx={LOOK} style={{ '--columns': columns.map(({ width }) => width).join(' ') } as object}>
      <div role="rowgroup" className="head">
        <div role="row">
          {columns.map(({ title, said, number }, place) => <div key={place} role="columnheader" aria-label={said} className={number ? 'number' : undefined}>{title}</div>)}
        </div>
      </div>
      <div role="rowgroup">{children}</div>
    </Box>
  );
}

const LOOK: SxProps<Theme> = {
  typography: 'body2',
  '& [role=row]': {
    display: 'grid', gridTemplateColumns: 'var(--columns)', alignItems: 'center', borderBottom: 1, borderColor: 'divider',
    contentVisibility: 'auto', containIntrinsicHeight: 'auto 31px',
  },
  '& [role=row] > *': { px: '12px', py: '5px', minWidth: 0 },
  '&.dense [role=row]': { borderBottom: 0, containIntrinsicHeight: 'auto 22px' },
  '&.dense [role=row] > *': { py: '2px' },
  '& .head': { color: 'text.secondary', fontWeight: 600, lineHeight: 1.35 },
  '& .number': { textAlign: 'right', whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' },
  '& .name': { overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' },
  '& .deeper': { pl: '24px' },
  '& .aside': { backgroundColor: 'action.hover' },
  '& .chosen': { backgroundColor: ({ palette }) => alpha(palette.primary.main, palette.action.selectedOpacity) },
  '& .open': { display: 'flex', p: '2px', m: '-3px', border: 0, borderRadius: '50%', background: 'none', color: 'action.active', fill: 'currentColor', cursor: 'pointer' },
  '& .open:hover': { backgroundColor: 'action.hover' },
  '& .open:focus-visible': { outline: '2px solid', outlineColor: 'primary.main', outlineOffset: 2 },
};
