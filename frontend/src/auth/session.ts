/** Who is logged in, asked once and kept until that changes. The secret itself is in a cookie that scripts cannot read. */
import { answered, api } from '../api/client';
import { ApiProblem } from '../api/problem';
import type { Schemas } from '../api/types';

export type Session = Schemas['SessionView'];

let asked: Promise<Session> | null = null;

/** Throws an ApiProblem with status 401 if nobody is. */
export function currentSession(): Promise<Session> {
  asked ??= answered(api.GET('/api/v1/session')).catch((error: unknown) => {
    asked = null;
    throw error;
  });
  return asked;
}

export function forgetSession(): void {
  asked = null;
}

export async function logIn(name: string, password: string): Promise<void> {
  forgetSession();
  // The answer holds the token, for programs: it is let go at once.
  await answered(api.POST('/api/v1/session', { body: { name, password } }));
}

export async function logOut(): Promise<void> {
  forgetSession();
  try {
    await api.DELETE('/api/v1/session');
  } catch (error) {
    // Whose session is over is logged out already.
    if (!(error instanceof ApiProblem && error.status === 401)) throw error;
  }
}
