import { Table, type SxProps, type Theme } from '@mui/material';
import type { ReactNode } from 'react';

/**
 * A table of hundreds of rows. It looks like the others, but its rows are plain `tr`, `th` and `td` (`className="number"`: at the right): a
 * component for each of thousands of cells would stop the page while they are made. A row may be `aside` (what is behind another one) or
 * `chosen`; a cell `narrow`, or `deeper` than the one above; `open` is a button for what is behind a row. `fixed`: columns are as wide as its `colgroup` says, so that the browser need not look into all rows for it.
 */
export function PlainTable({ fixed = false, children }: { fixed?: boolean; children: ReactNode }) {
  return <Table size="small" sx={fixed ? FIXED : PLAIN}>{children}</Table>;
}

const PLAIN: SxProps<Theme> = {
  typography: 'body2',
  '& td, & th': { px: '12px', py: '5px', textAlign: 'left', fontWeight: 400, borderBottom: 1, borderColor: 'divider', verticalAlign: 'inherit' },
  '& thead th': { color: 'text.secondary', fontWeight: 600, lineHeight: 1.35 },
  '& .number': { textAlign: 'right', whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' },
  '& .narrow': { width: 40, px: '4px' },
  '& .deeper': { pl: '24px' },
  '& .aside': { backgroundColor: 'action.hover' },
  '& .chosen': { backgroundColor: 'action.selected' },
  '& .open': { display: 'flex', p: '4px', border: 0, borderRadius: '50%', background: 'none', color: 'action.active', fill: 'currentColor', cursor: 'pointer' },
  '& .open:hover': { backgroundColor: 'action.hover' },
};
const FIXED: SxProps<Theme> = { ...PLAIN, tableLayout: 'fixed' };
