import { Link } from '@mui/material';
import { Link as RouterLink } from 'react-router-dom';

import { Page } from '../shared/Page';
import { Panel } from '../shared/Panel';
import { EmptyState } from '../shared/DataStates';

/** The page that is shown for an unknown URL. */
export function NotFoundPage() {
  return (
    <Page title="Page not found">
      <Panel>
        <EmptyState title="This page does not exist">Check the URL, or go to <Link component={RouterLink} to="/" underline="always">Home</Link>.</EmptyState>
      </Panel>
    </Page>
  );
}
