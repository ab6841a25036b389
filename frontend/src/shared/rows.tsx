/** What opens a row for who uses the keyboard: the row itself hears clicks only. It stands in the first cell that says which row it is. */
import { Box, Link } from '@mui/material';
import type { ReactNode } from 'react';
import { useDataTableConfigContext, useExpanded, useRecordContext, useResourceContext } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import { HIDDEN } from './hidden';

/** The way to the page of what the row is about. */
export function RowLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    // The row would go to the same place once more.
    <Link component={RouterLink} to={to} onClick={(event) => event.stopPropagation()} sx={{ color: 'text.primary', fontWeight: 600, overflowWrap: 'anywhere' }}>
      {children}
    </Link>
  );
}

/** Unfolds the row, and folds it again. `more`: said to who cannot see the other cells. */
export function RowToggle({ more, children }: { more: string; children: ReactNode }) {
  const resource = useResourceContext();
  const record = useRecordContext();
  const { expandSingle } = useDataTableConfigContext();
  const [expanded, toggle] = useExpanded(resource!, record!.id, expandSingle);
  return (
    <Link
      component="button"
      type="button"
      aria-expanded={expanded}
      aria-controls={`${resource}-${record!.id}-expand`}
      onClick={(event) => {
        event.stopPropagation();
        toggle();
      }}
      sx={{ color: 'text.primary', fontVariantNumeric: 'inherit', verticalAlign: 'baseline' }}
    >
      {children}{' '}<Box component="span" sx={HIDDEN}>{more}</Box>
    </Link>
  );
}
