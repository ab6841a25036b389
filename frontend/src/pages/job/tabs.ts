import { lazy, type ComponentType, type LazyExoticComponent } from 'react';

export interface JobTab {
  /** In the address: `/jobs/7/checkpoints`. The first tab has none. */
  path: string;
  label: string;
  /** It has addresses below its own. */
  deeper?: true;
  Content: LazyExoticComponent<ComponentType>;
}

/** Each tab is a folder with a default export, loaded when it is opened. It finds its job by `useJob()`. */
export const TABS: readonly JobTab[] = [
  { path: '', label: 'Overview', Content: lazy(() => import('./overview')) },
  { path: 'checkpoints', label: 'Checkpoints', Content: lazy(() => import('./checkpoints')) },
  { path: 'backpressure', label: 'Backpressure & alignment', Content: lazy(() => import('./backpressure')) },
  { path: 'recovery', label: 'Recovery', deeper: true, Content: lazy(() => import('./recovery')) },
  { path: 'exceptions', label: 'Exceptions', Content: lazy(() => import('./exceptions')) },
  { path: 'events', label: 'Events', Content: lazy(() => import('./events')) },
  { path: 'versions', label: 'Versions', Content: lazy(() => import('./versions')) },
  { path: 'configuration', label: 'Configuration', Content: lazy(() => import('./configuration')) },
  { path: 'runs', label: 'Runs', Content: lazy(() => import('./runs')) },
];

/** Which one an address is of, if it is of any; `rest`: what follows the number of the job in it. */
export function tabAt(rest = ''): JobTab | undefined {
  const [first] = rest.split('/');
  return TABS.find(({ path }) => path === first);
}
