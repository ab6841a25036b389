import { useEffect } from 'react';
import { useLogoutIfAccessDenied } from 'react-admin';

import { onSessionOver } from '../api/transport';

/** Whichever request finds that the session is over, a stream or a click: the log-in page comes, and leads back here. */
export function SessionWatch() {
  const logOutIfOver = useLogoutIfAccessDenied();
  useEffect(() => onSessionOver((problem) => void logOutIfOver(problem)), [logOutIfOver]);
  return null;
}
