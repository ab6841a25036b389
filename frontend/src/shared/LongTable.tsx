import { alpha, Box, type SxProps, type Theme } from '@mui/material';
import type { ReactNode } from 'react';

export interface Column {
  /** The column heading. A column without a visible heading has an `ariaLabel`. */
  title?: ReactNode;
  ariaLabel?: string;
  /**
   * The width of the column, as a CSS grid track. This width must be independent of the content, because the browser lays out each row separately.
   */
  width: string;
  number?: boolean;
}

/**
 * A table for hundreds of rows. Rows are plain `<div role="row">` elements that contain `<div role="cell">` and `<div role="rowheader">`, because a
 * component for each cell would be slow. The browser lays out each row independently and skips invisible rows.
 *
 * CSS classes of rows are `aside` for the details of another row, and `chosen` for the selected row. CSS classes of cells are `number` (aligned
 * right), `deeper` (indented) and `name` (truncated). A button with the class `open` expands a row. If `dense` is true, there are no lines between
 * rows.
 */
export function LongTable({ columns, dense = false, children }: { columns: readonly Column[]; dense?: boolean; children: ReactNode }) {
  return (
    <Box role="table" className={dense ? 'dense' : undefined} sx={STYLES} style={{ '--columns': columns.map(({ width }) => width).join(' ') } as object}>
      <div role="rowgroup" className="head">
        <div role="row">
          {columns.map(({ title, ariaLabel, number }, place) => <div key={place} role="columnheader" aria-label={ariaLabel} className={number ? 'number' : undefined}>{title}</div>)}
        </div>
      </div>
      <div role="rowgroup">{children}</div>
    </Box>
  );
}

const STYLES: SxProps<Theme> = {
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
