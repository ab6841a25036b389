import { Alert } from '@mui/material';

import { duration, toMs } from '../../format';
import { useNow } from '../../shared/useNow';
import { useJob } from './useJob';

/** Warns that the control plane cannot reach the driver. ConnectionBanner reports an interrupted connection between browser and API. */
export function UnreachableDriver() {
  const { run } = useJob();
  const now = useNow();
  if (run?.state !== 'RECONCILING') return null;
  const contactMs = toMs(run.last_contact_at);
  return (
    <Alert severity="warning" role="none">
      <span role="status">The driver of run {run.number} is unreachable. This page shows the last known state until Weir has found out whether the driver is alive.</span>
      {/* The last contact is outside the live region, because screen readers would otherwise announce the changing text every second. */}
      {contactMs !== null && <> Last contact: {duration(now - contactMs)} ago.</>}
    </Alert>
  );
}
