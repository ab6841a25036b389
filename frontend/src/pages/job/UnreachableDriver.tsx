import { Alert } from '@mui/material';

import { duration, toMs } from '../../format';
import { useNow } from '../../shared/useNow';
import { useJob } from './useJob';

/** A warning that the server has no contact to the driver. LineBanner covers the connection from the browser to the server. */
export function UnreachableDriver() {
  const { run } = useJob();
  const now = useNow();
  if (run?.state !== 'RECONCILING') return null;
  const contactMs = toMs(run.last_contact_at);
  return (
    <Alert severity="warning" role="none">
      <span role="status">The driver of run {run.number} is unreachable. This page shows the last known state until Weir knows whether the driver is alive.</span>
      {/* Outside the live region, because it changes every second. */}
      {contactMs !== null && <> Last contact: {duration(now - contactMs)} ago.</>}
    </Alert>
  );
}
