/**
 * Links and buttons for the first cell of a row. Keyboard users need these links and buttons, because rows react only to clicks.
 */
import { Box, Link } from '@mui/material';
import type { ReactNode } from 'react';
import { useDataTableConfigContext, useExpanded, useRecordContext, useResourceContext } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import { VISUALLY_HIDDEN } from './visuallyHidden';

/** A link to the page of the row's record. */
export function RowLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    // Stop the propagation of the event, because the click handler of the row would otherwise navigate a second time.
    <Link component={RouterLink} to={to} onClick={(event) => event.stopPropagation()} sx={{ color: 'text.primary', fontWeight: 600, overflowWrap: 'anywhere' }}>
      {children}
    </Link>
  );
}

/** Expands and collapses the row. `more` is additional context for screen readers. */
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
      {children}{' '}<Box component="span" sx={VISUALLY_HIDDEN}>{more}</Box>
    </Link>
  );
}
