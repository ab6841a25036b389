import { lazy, Suspense, type ComponentType } from 'react';

import { Waiting } from '../../shared/Standins';

/** Deploying is seldom: its pages are loaded when they are opened. */
function later(load: () => Promise<{ default: ComponentType }>): ComponentType {
  const Content = lazy(load);
  return function Later() {
    return <Suspense fallback={<Waiting height={320} />}><Content /></Suspense>;
  };
}

export const DeployPage = later(async () => ({ default: (await import('.')).DeployPage }));
export const NewVersionPage = later(async () => ({ default: (await import('.')).NewVersionPage }));
export const ReviewPage = later(async () => ({ default: (await import('./Review')).ReviewPage }));
