import { lazy, Suspense, type ComponentType } from 'react';

import { LoadingState } from '../../shared/DataStates';

/** The deploy pages. Their code is loaded when they are opened. */
function lazyPage(load: () => Promise<{ default: ComponentType }>): ComponentType {
  const Content = lazy(load);
  return function Later() {
    return <Suspense fallback={<LoadingState height={320} />}><Content /></Suspense>;
  };
}

export const DeployPage = lazyPage(async () => ({ default: (await import('.')).DeployPage }));
export const NewVersionPage = lazyPage(async () => ({ default: (await import('.')).NewVersionPage }));
export const ReviewPage = lazyPage(async () => ({ default: (await import('./Review')).ReviewPage }));
