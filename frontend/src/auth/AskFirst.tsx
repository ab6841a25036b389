import { useEffect, useState, type ReactNode } from 'react';
import { Navigate, useLocation } from 'react-router-dom';

import { visit } from './session';

const LOG_IN = '/login';

/**
 * Who comes and is not logged in goes straight to the log-in page. Left to react-admin, pages that need a log-in are begun, refused and
 * logged out of first: requests that fail, and several of them.
 */
export function AskFirst({ children }: { children: ReactNode }) {
  const { pathname, search } = useLocation();
  const [known, setKnown] = useState<'asking' | 'nobody' | 'go on'>('asking');
  useEffect(() => {
    let here = true;
    visit().then(
      ({ session }) => here && setKnown(session === null ? 'nobody' : 'go on'),
      // Nobody answers: the pages know how to say that.
      () => here && setKnown('go on'),
    );
    return () => {
      here = false;
    };
  }, []);
  if (known === 'asking') return null;
  if (known === 'nobody' && pathname !== LOG_IN) return <Navigate to={LOG_IN} replace state={{ nextPathname: pathname, nextSearch: search }} />;
  return <>{children}<Passed when={known === 'nobody'} then={() => setKnown('go on')} /></>;
}

/** Once the log-in page is there, what comes after is react-admin's business. */
function Passed({ when, then }: { when: boolean; then: () => void }) {
  useEffect(() => {
    if (when) then();
  }, [when, then]);
  return null;
}
