/** The permissions that react-admin pages require. The API requires the same permissions. Every user can open a resource that is not listed here. */
import { usePermissions } from 'react-admin';

import type { Permission, Schemas } from '../api/types';

const READ_PERMISSION: Record<string, Permission> = { users: 'administer', secrets: 'administer', audit: 'administer' };
const WRITE_PERMISSION: Record<string, Permission> = { 'alert-rules': 'operate', webhooks: 'administer' };
const WRITE_ACTIONS = new Set(['create', 'edit', 'delete']);

/** Return the permission that an action requires. Null means that every logged-in user has access. */
export function requiredPermission(resource: string, action: string): Permission | null {
  return READ_PERMISSION[resource] ?? (WRITE_ACTIONS.has(action) ? (WRITE_PERMISSION[resource] ?? null) : null);
}

/** Return the role of a user or token as text, such as `operator, may roll back`. */
export function formatRole({ role, rollback }: Pick<Schemas['SessionRead'], 'role' | 'rollback'>): string {
  return `${role}${rollback ? ', may roll back' : ''}`;
}

/** Return whether the current user has this permission. Returns false until the permissions are loaded. */
export function useCan(permission: Permission): boolean {
  const { permissions } = usePermissions<Permission[]>();
  return permissions?.includes(permission) ?? false;
}
