import { lazy, Suspense, type ComponentType } from 'react';

import { LoadingState } from '../../shared/DataStates';

/** Return a page whose code is loaded when the page is opened. */
function lazyPage(load: () => Promise<{ default: ComponentType }>): ComponentType {
  const Content = lazy(load);
  return function Later() {
    return <Suspense fallback={<LoadingState height={320} />}><Content /></Suspense>;
  };
}

export const DeployPage = lazyPage(async () => ({ default: (await import('.')).DeployPage }));
export const NewVersionPage = lazyPage(async () => ({ default: (await import('.')).NewVersionPage }));
export const ReviewPage = lazyPage(async () => ({ default: (await import('./Review')).ReviewPage }));
