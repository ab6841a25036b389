import { Link } from '@mui/material';
import { Link as RouterLink } from 'react-router-dom';

import { useCan } from '../../auth/permissions';
import { EmptyState } from '../../shared/DataStates';

export function NoJobsYet() {
  const canOperate = useCan('operate');
  return (
    <EmptyState title="No jobs yet">
      {canOperate ? <><Link component={RouterLink} to="/jobs/deploy" underline="always">Deploy a job</Link> here or from</> : 'Operators can deploy jobs here or from'} a terminal: <code>weir deploy job.py</code>.
    </EmptyState>
  );
}
