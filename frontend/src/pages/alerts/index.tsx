import { Button } from '@mui/material';
import { Link } from 'react-router-dom';

import { Page } from '../../shared/Page';
import { AlertsPanel } from './AlertsPanel';

/** Lists firing alerts, followed by resolved alerts. */
export default function Alerts() {
  return (
    <Page title="Alerts" actions={<Button component={Link} to="/alert-rules" size="small" variant="outlined">Alert rules</Button>}>
      <AlertsPanel title="Firing" filter={{ state: 'FIRING' }} empty="No firing alerts" emptyHelp="Weir evaluates all rules every 15 s. An alert fires while its rule holds." />
      <AlertsPanel title="Resolved" filter={{ state: 'RESOLVED' }} empty="No resolved alerts" emptyHelp="Resolved alerts stay here for 90 days." />
    </Page>
  );
}
