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
    <Alert severity="warning" role="none">
      <span role="status">Nothing is heard of the driver of run {run.number}: what you see is what was known before, and whether it lives is being found out.</span>
      {/* Another one each second: it is there to be read, and is not told. */}
      {heard !== null && <> It was last heard {duration(now - heard)} ago.</>}
    </Alert>
  );
}
