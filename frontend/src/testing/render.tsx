/** A page of the real application, over an invented installation that moves only when the test says so. */
import { render, screen } from '@testing-library/react';
import userEvent, { type UserEvent } from '@testing-library/user-event';
import { onTestFinished } from 'vitest';

import { setTransport } from '../api/transport';
import type { Schemas } from '../api/types';
import { App, newQueryClient } from '../App';
import { forgetSession } from '../auth/session';
import { FakeApi } from '../fake/api';
import { World } from '../fake/world';

interface Options {
  /** Who is logged in; null: nobody. */
  as?: 'viewer' | 'operator' | 'admin' | null;
  world?: World;
  /** The provider of OpenID Connect that is configured. */
  oidc?: Schemas['OidcView'];
}

export interface Rendered {
  fake: FakeApi;
  user: UserEvent;
}

/** The whole application at an address. */
export async function renderPage(path: string, { as = 'admin', world = new World(Date.now()), oidc }: Options = {}): Promise<Rendered> {
  const fake = new FakeApi(world, as);
  fake.oidc = oidc ?? null;
  onTestFinished(setTransport(fake.answer));
  forgetSession();
  localStorage.clear();
  globalThis.history.replaceState(null, '', path);
  const queries = newQueryClient();
  // What is refused is refused at once: tests have no time for second tries.
  queries.setDefaultOptions({ queries: { ...queries.getDefaultOptions().queries, retry: false } });
  render(<App queryClient={queries} />);
  await screen.findByRole('heading', { level: 1 });
  return { fake, user: userEvent.setup() };
}

/** A tab of the page of a job: `renderJob(1, '/checkpoints')`. Jobs are those of src/fake/scenes.ts, counted from 1. */
export async function renderJob(jobId: number, tab = '', options: Options = {}): Promise<Rendered> {
  const world = options.world ?? new World(Date.now());
  const rendered = await renderPage(`/jobs/${jobId}${tab}`, { ...options, world });
  const job = world.find(jobId);
  if (job) await screen.findByRole('heading', { level: 1, name: job.job.name });
  return rendered;
}

/** Answers to requests of the method wait from now on, until what this gives back is called. */
export function hold({ fake }: Rendered, method: string): () => void {
  let release = (): void => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  const held = async (request: Request): Promise<Response> => {
    if (request.method === method) await released;
    return fake.answer(request);
  };
  onTestFinished(setTransport(held));
  return release;
}
