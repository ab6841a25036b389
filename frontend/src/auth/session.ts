/** The session of the current user, fetched once and kept until it changes. The session's token is in a cookie that scripts cannot read. */
import { unwrap, api } from '../api/client';
import { ApiProblem } from '../api/problem';
import type { Schemas } from '../api/types';

type Session = Schemas['SessionRead'];
type SessionStatus = Schemas['LoginStatusRead'];

const LOGIN_PAGE_DELAY_MS = 50;

let status: Promise<SessionStatus> | null = null;
/** Whether this page has found a session. Without a session, logging out sends no request. */
let loggedIn = false;

/**
 * Return the current session and the available ways to log in. If there is no session, the response is not an error, so the browser's console shows
 * no error.
 */
export function fetchSessionStatus(): Promise<SessionStatus> {
  status ??= unwrap(api.GET('/api/v1/session/status')).then(
    (loaded) => {
        loggedIn = loaded.session !== null;
        return loaded;
    },
    (error: unknown) => {
      status = null;
      throw error;
    },
  );
  return status;
}

/** Return the current session. Throws an ApiProblem with status 401 if there is no session. */
export async function currentSession(): Promise<Session> {
  const { session } = await fetchSessionStatus();
  if (session === null) throw new ApiProblem(401, 'unauthenticated', 'You are not logged in', 'Log in');
  return session;
}

export function forgetSession(): void {
  status = null;
  loggedIn = false;
}

export async function logIn(name: string, password: string): Promise<void> {
  forgetSession();
  // The response contains the token for API clients. The browser uses the cookie, so the token is discarded.
  await unwrap(api.POST('/api/v1/session', { body: { name, password } }));
}

export async function logOut(): Promise<void> {
  const hadSession = loggedIn;
  forgetSession();
  // Wait until the log-in page is rendered, because until then react-admin logs out repeatedly.
  if (!hadSession) return new Promise((resolve) => setTimeout(resolve, LOGIN_PAGE_DELAY_MS));
  try {
    await api.DELETE('/api/v1/session');
  } catch (error) {
    // The session has already ended.
    if (!(error instanceof ApiProblem && error.status === 401)) throw error;
  }
}
