import { Alert } from '@mui/material';

import { duration, toMs } from '../../format';
import { useNow } from '../../shared/useNow';
import { useJob } from './useJob';

/** A driver polls all the time: who has not been heard for so long is out of reach of the control plane. */
const SILENT_MS = 45_000;

/**
 * The line from here to the control plane is another matter: see LineBanner. `asOf`: when the job was last asked for (ms): that nothing has been
 * asked since says nothing of the driver.
 */
export function RunOutOfReach({ asOf }: { asOf: number }) {
  const { run } = useJob();
  const now = useNow();
  const heard = toMs(run?.last_contact_at);
  if (!run || run.ended_at !== null || heard === null || asOf - heard < SILENT_MS) return null;
  return (
    <Alert severity="warning" role="status">
      The driver of run {run.number} was last heard {duration(now - heard)} ago. What you see is what was known then
      {run.state === 'RECONCILING' ? '; whether it lives is being found out.' : '; it tells the rest when it is heard again.'}
    </Alert>
  );
}
