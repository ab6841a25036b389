import { lazy, type ComponentType, type LazyExoticComponent } from 'react';

interface JobTab {
  /** Path segment: `/jobs/7/checkpoints`. The first tab has an empty path. */
  path: string;
  label: string;
  /** Whether the tab has pages with longer paths, such as `/jobs/7/recovery/3`. */
  nested?: true;
  Content: LazyExoticComponent<ComponentType>;
}

/** Each tab is a lazily loaded folder with a default export. The tab gets the job from `useJob()`. */
export const TABS: readonly JobTab[] = [
  { path: '', label: 'Overview', Content: lazy(() => import('./overview')) },
  { path: 'checkpoints', label: 'Checkpoints', Content: lazy(() => import('./checkpoints')) },
  { path: 'backpressure', label: 'Backpressure & alignment', Content: lazy(() => import('./backpressure')) },
  { path: 'profiler', label: 'Profiler', Content: lazy(() => import('./profiler')) },
  { path: 'recovery', label: 'Recovery', nested: true, Content: lazy(() => import('./recovery')) },
  { path: 'exceptions', label: 'Exceptions', Content: lazy(() => import('./exceptions')) },
  { path: 'logs', label: 'Logs', Content: lazy(() => import('./logs')) },
  { path: 'events', label: 'Events', Content: lazy(() => import('./events')) },
  { path: 'versions', label: 'Versions', Content: lazy(() => import('./versions')) },
  { path: 'configuration', label: 'Configuration', Content: lazy(() => import('./configuration')) },
  { path: 'runs', label: 'Runs', Content: lazy(() => import('./runs')) },
];

/** Return the tab of a path. `rest`: the part of the path after the job id. */
export function tabAt(rest = ''): JobTab | undefined {
  const [first] = rest.split('/');
  return TABS.find(({ path }) => path === first);
}
