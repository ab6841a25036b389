import type { AuthProvider } from 'react-admin';

import { ApiProblem } from '../api/problem';
import type { Permission } from '../api/types';
import { formatRole, requiredPermission } from './permissions';
import { currentSession, forgetSession, logIn, logOut, fetchSessionStatus } from './session';

/** `message: false` makes react-admin open the log-in page without an error message. */
const NOT_LOGGED_IN = Object.assign(new Error(), { message: false as unknown as string });

export const authProvider: AuthProvider = {
  async login({ username, password }: { username: string; password: string }) {
    await logIn(username, password);
  },
  async logout() {
    try {
      await logOut();
    } catch {
      // If the API does not respond, the session stays valid until it expires. React-admin shows the log-in page even if the log-out request fails.
    }
  },
  async checkAuth() {
    if ((await fetchSessionStatus()).session === null) throw NOT_LOGGED_IN;
  },
  async checkError(error: unknown) {
    if (!(error instanceof ApiProblem && error.status === 401)) return;
    forgetSession();
    throw error;
  },
  async getIdentity() {
    const session = await currentSession();
    return { id: session.user_id, fullName: session.name, role: formatRole(session), tokenId: session.token_id };
  },
  async getPermissions(): Promise<Permission[]> {
    const { session } = await fetchSessionStatus();
    // Do not return an empty list, because react-admin would treat the user as logged in, and would log out in an endless loop.
    if (session === null) throw NOT_LOGGED_IN;
    return session.permissions;
  },
  async canAccess({ resource, action }) {
    const needed = requiredPermission(resource, action);
    return needed === null || (await currentSession()).permissions.includes(needed);
  },
};
