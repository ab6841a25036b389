import { useEffect, useState, type ReactNode } from 'react';
import { Navigate, useLocation } from 'react-router-dom';

import { fetchSessionStatus } from './session';

const LOG_IN = '/login';

/**
 * Redirects to the log-in page if there is no session. Without the redirect, react-admin would first render the page, and several requests would
 * fail.
 */
export function RequireSession({ children }: { children: ReactNode }) {
  const { pathname, search } = useLocation();
  const [session, setSession] = useState<'loading' | 'none' | 'checked'>('loading');
  useEffect(() => {
    let mounted = true;
    fetchSessionStatus().then(
      (status) => mounted && setSession(status.session === null ? 'none' : 'checked'),
      // If the API does not respond, render the page, so that the page shows the error.
      () => mounted && setSession('checked'),
    );
    return () => {
      mounted = false;
    };
  }, []);
  if (session === 'loading') return null;
  if (session === 'none' && pathname !== LOG_IN) return <Navigate to={LOG_IN} replace state={{ nextPathname: pathname, nextSearch: search }} />;
  return <>{children}<OnMounted when={session === 'none'} then={() => setSession('checked')} /></>;
}

/** Calls `then` after the log-in page is mounted, because react-admin handles the session from this time on. */
function OnMounted({ when, then }: { when: boolean; then: () => void }) {
  useEffect(() => {
    if (when) then();
  }, [when, then]);
  return null;
}
