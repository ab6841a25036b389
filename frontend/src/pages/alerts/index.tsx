import { Button } from '@mui/material';
import { Link } from 'react-router-dom';

import { Page } from '../../shared/Page';
import { AlertsPanel } from './AlertsPanel';

/** What needs somebody now comes first, and is empty on a good day. */
export default function Alerts() {
  return (
    <Page title="Alerts" actions={<Button component={Link} to="/alert-rules" size="small" variant="outlined">Rules</Button>}>
      <AlertsPanel title="Firing" filter={{ state: 'FIRING' }} empty="Nothing needs anybody" emptyWhy="Rules are held against all jobs every 15 seconds. An alert fires until its rule does not hold any more." />
      <AlertsPanel title="Resolved" filter={{ state: 'RESOLVED' }} empty="None yet" emptyWhy="Alerts that are over stay here for 90 days, with the reason." />
    </Page>
  );
}
