import { useCanAccess } from 'react-admin';
import type { ComponentType } from 'react';

import type { Permission } from '../api/types';
import { Page } from '../shared/Page';
import { Panel } from '../shared/Panel';
import { EmptyState, LoadingState } from '../shared/DataStates';
import { requiredPermission } from './permissions';

const ROLE_WITH: Partial<Record<Permission, string>> = { operate: 'operator', administer: 'admin' };

/** Replaces a page that the user's role does not permit. */
export function AccessDenied({ needed = null }: { needed?: Permission | null }) {
  const role = needed && ROLE_WITH[needed];
  return (
    <Page title="Access denied">
      <Panel>
        <EmptyState title="You do not have access to this page">{role ? `This page requires the role ${role}. Ask an administrator for this role.` : 'Ask an administrator for access.'}</EmptyState>
      </Panel>
    </Page>
  );
}

/**
 * Checks access before the page is rendered. React-admin's own check is too late, because the page would already have sent requests that the API
 * refuses.
 */
export function withAccessCheck(action: 'list' | 'create' | 'edit', resource: string, Content: ComponentType): ComponentType {
  const needed = requiredPermission(resource, action);
  if (needed === null) return Content;
  return function Guarded() {
    const { canAccess, isPending } = useCanAccess({ resource, action });
    if (isPending) return <LoadingState height={320} />;
    return canAccess ? <Content /> : <AccessDenied needed={needed} />;
  };
}
