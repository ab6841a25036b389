import type { AuthProvider } from 'react-admin';

import { ApiProblem } from '../api/problem';
import type { Permission } from '../api/types';
import { currentSession, forgetSession, logIn, logOut } from './session';

/** What only some may see at all. What they may do there is asked by `useCan`. */
const NEEDED: Record<string, Permission> = { users: 'administer', audit: 'administer' };

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
    await currentSession();
  },
  async checkError(error: unknown) {
    if (!(error instanceof ApiProblem && error.status === 401)) return;
    forgetSession();
    throw error;
  },
  async getIdentity() {
    const session = await currentSession();
    return { id: session.user_id, fullName: session.name };
  },
  async getPermissions(): Promise<Permission[]> {
    return (await currentSession()).permissions;
  },
  async canAccess({ resource }) {
    const needed = NEEDED[resource];
    return needed === undefined || (await currentSession()).permissions.includes(needed);
  },
};
