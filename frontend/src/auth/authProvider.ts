import type { AuthProvider } from 'react-admin';

import { ApiProblem } from '../api/problem';
import type { Permission } from '../api/types';
import { neededFor } from './needed';
import { roleSaid } from './roleSaid';
import { currentSession, forgetSession, logIn, logOut, visit } from './session';

/** To react-admin `message: false` is a reason to go to the log-in page without a word: who comes for the first time did nothing wrong. */
const NOBODY = Object.assign(new Error(), { message: false as unknown as string });

export const authProvider: AuthProvider = {
  async login({ username, password }: { username: string; password: string }) {
    await logIn(username, password);
  },
  async logout() {
    try {
      await logOut();
    } catch {
      // The control plane is away. The session stays until it ends by itself, but this page forgets whose it was.
    }
  },
  async checkAuth() {
    if ((await visit()).session === null) throw NOBODY;
  },
  async checkError(error: unknown) {
    if (!(error instanceof ApiProblem && error.status === 401)) return;
    forgetSession();
    throw error;
  },
  async getIdentity() {
    const session = await currentSession();
    return { id: session.user_id, fullName: session.name, role: roleSaid(session), tokenId: session.token_id };
  },
  async getPermissions(): Promise<Permission[]> {
    const { session } = await visit();
    // Not an empty list: who has permissions, be it none, is taken for logged in, and logged out again without end.
    if (session === null) throw NOBODY;
    return session.permissions;
  },
  async canAccess({ resource, action }) {
    const needed = neededFor(resource, action);
    return needed === null || (await currentSession()).permissions.includes(needed);
  },
};
