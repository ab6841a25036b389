/** Permissions that the pages of react-admin require, as the API does. Resources that are not listed are for every user. */
import { usePermissions } from 'react-admin';

import type { Permission, Schemas } from '../api/types';

const READ_PERMISSION: Record<string, Permission> = { users: 'administer', audit: 'administer' };
const WRITE_PERMISSION: Record<string, Permission> = { 'alert-rules': 'operate', webhooks: 'administer' };
const WRITE_ACTIONS = new Set(['create', 'edit', 'delete']);

/** The permission that an action requires. Null: every logged-in user may do it. */
export function requiredPermission(resource: string, action: string): Permission | null {
  return READ_PERMISSION[resource] ?? (WRITE_ACTIONS.has(action) ? (WRITE_PERMISSION[resource] ?? null) : null);
}

/** The role of a user or token: `operator, may roll back`. */
export function formatRole({ role, rollback }: Pick<Schemas['SessionRead'], 'role' | 'rollback'>): string {
  return `${role}${rollback ? ', may roll back' : ''}`;
}

/** Whether the current user has this permission. False until it is known. */
export function useCan(permission: Permission): boolean {
  const { permissions } = usePermissions<Permission[]>();
  return permissions?.includes(permission) ?? false;
}
