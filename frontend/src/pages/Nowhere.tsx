import { Link } from '@mui/material';
import { Link as RouterLink } from 'react-router-dom';

import { Page } from '../shared/Page';
import { Panel } from '../shared/Panel';
import { Empty } from '../shared/Standins';

/** An address that no page has. */
export function Nowhere() {
  return (
    <Page title="Not found">
      <Panel>
        <Empty title="There is no such page">Its address may have been mistyped. <Link component={RouterLink} to="/" underline="always">Home</Link> leads to all of them.</Empty>
      </Panel>
    </Page>
  );
}
