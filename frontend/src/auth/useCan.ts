import { usePermissions } from 'react-admin';

import type { Permission } from '../api/types';

/** May whoever is logged in do this? What he may not is not offered. False until it is known. */
export function useCan(permission: Permission): boolean {
  const { permissions } = usePermissions<Permission[]>();
  return permissions?.includes(permission) ?? false;
}
