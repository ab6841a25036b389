import { useCanAccess } from 'react-admin';
import type { ComponentType } from 'react';

import type { Permission } from '../api/types';
import { Page } from '../shared/Page';
import { Panel } from '../shared/Panel';
import { Empty, Waiting } from '../shared/Standins';
import { neededFor } from './needed';

const ROLE: Partial<Record<Permission, string>> = { operate: 'operator', administer: 'admin' };

/** Whoever comes here has followed somebody else's link: it says whom to ask. */
export function Denied({ needed = null }: { needed?: Permission | null }) {
  const role = needed && ROLE[needed];
  return (
    <Page title="Access denied">
      <Panel>
        <Empty title="This page is not for you">{role ? `It needs the role ${role}: ask an administrator for it.` : 'Ask an administrator for a role that it is for.'}</Empty>
      </Panel>
    </Page>
  );
}

/** Asks before the page is begun. Left to react-admin, the page sends its request as well, and is refused. */
export function forWhoMay(action: 'list' | 'create' | 'edit', resource: string, Content: ComponentType): ComponentType {
  const needed = neededFor(resource, action);
  if (needed === null) return Content;
  return function Guarded() {
    const { canAccess, isPending } = useCanAccess({ resource, action });
    if (isPending) return <Waiting height={320} />;
    return canAccess ? <Content /> : <Denied needed={needed} />;
  };
}
