import { Link } from '@mui/material';
import { Link as RouterLink } from 'react-router-dom';

import { useCan } from '../../auth/useCan';
import { Empty } from '../../shared/Standins';

export function NoJobs() {
  const may = useCan('operate');
  return (
    <Empty title="No jobs yet">
      {may ? <><Link component={RouterLink} to="/jobs/deploy" underline="always">Deploy the first one</Link> here, or from</> : 'Operators deploy them, here or from'} a terminal: <code>weir deploy job.py</code>.
      It shows up by itself.
    </Empty>
  );
}
