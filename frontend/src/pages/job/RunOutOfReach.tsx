import { Alert } from '@mui/material';

import { duration, toMs } from '../../format';
import { useNow } from '../../shared/useNow';
import { useJob } from './useJob';

/** The server says of whom nothing is heard. The line from here to it is another matter: see LineBanner. */
export function RunOutOfReach() {
  const { run } = useJob();
  const now = useNow();
  if (run?.state !== 'RECONCILING') return null;
  const heard = toMs(run.last_contact_at);
  return (
    <Alert severity="warning" role="status">
      {heard === null ? `Nothing is heard of the driver of run ${run.number}` : `The driver of run ${run.number} was last heard ${duration(now - heard)} ago`}.
      What you see is what was known then; whether it lives is being found out.
    </Alert>
  );
}
