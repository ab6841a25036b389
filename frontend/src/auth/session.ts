/** Who is logged in, asked once and kept until that changes. The secret itself is in a cookie that scripts cannot read. */
import { answered, api } from '../api/client';
import { ApiProblem } from '../api/problem';
import type { Schemas } from '../api/types';

export type Session = Schemas['SessionView'];
export type Visit = Schemas['VisitView'];

const DRAWN_MS = 50;

let asked: Promise<Visit> | null = null;
/** As far as this page knows: who has none need not be logged out. */
let loggedIn = false;

/** Who is logged in, if somebody is, and how one can log in. That nobody is is no problem here, and none in the browser's console. */
export function visit(): Promise<Visit> {
  asked ??= answered(api.GET('/api/v1/session/visit')).then(
    (found) => {
      loggedIn = found.session !== null;
      return found;
    },
    (error: unknown) => {
      asked = null;
      throw error;
    },
  );
  return asked;
}

/** Throws an ApiProblem with status 401 if nobody is. */
export async function currentSession(): Promise<Session> {
  const { session } = await visit();
  if (session === null) throw new ApiProblem(401, 'unauthenticated', 'nobody is logged in', 'log in');
  return session;
}

export function forgetSession(): void {
  asked = null;
  loggedIn = false;
}

export async function logIn(name: string, password: string): Promise<void> {
  forgetSession();
  // The answer holds the token, for programs: it is let go at once.
  await answered(api.POST('/api/v1/session', { body: { name, password } }));
}

export async function logOut(): Promise<void> {
  const open = loggedIn;
  forgetSession();
  // React-admin logs out again and again until the log-in page is drawn: it needs a moment for that.
  if (!open) return new Promise((resolve) => setTimeout(resolve, DRAWN_MS));
  try {
    await api.DELETE('/api/v1/session');
  } catch (error) {
    // Whose session is over is logged out already.
    if (!(error instanceof ApiProblem && error.status === 401)) throw error;
  }
}
