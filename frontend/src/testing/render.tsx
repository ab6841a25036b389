/** Renders the application with a fake installation, in which time passes only when the test advances it. */
import { render, screen } from '@testing-library/react';
import userEvent, { type UserEvent } from '@testing-library/user-event';
import { onTestFinished } from 'vitest';

import { setTransport } from '../api/transport';
import type { Schemas } from '../api/types';
import { App, newQueryClient } from '../App';
import { forgetSession } from '../auth/session';
import { FakeApi } from '../fake/api';
import { Installation } from '../fake/installation';

interface Options {
  /** The logged-in user. Null means that no user is logged in. */
  as?: 'viewer' | 'operator' | 'admin' | null;
  installation?: Installation;
  /** The configured OpenID Connect provider. */
  oidc?: Schemas['OidcProviderRead'];
}

export interface Rendered {
  fake: FakeApi;
  user: UserEvent;
}

/** Render the application at a path. */
export async function renderPage(path: string, { as = 'admin', installation = new Installation(Date.now()), oidc }: Options = {}): Promise<Rendered> {
  const fake = new FakeApi(installation, as);
  fake.oidc = oidc ?? null;
  onTestFinished(setTransport(fake.handle));
  forgetSession();
  localStorage.clear();
  globalThis.history.replaceState(null, '', path);
  const queries = newQueryClient();
  // Queries are not retried, so that tests see errors immediately.
  queries.setDefaultOptions({ queries: { ...queries.getDefaultOptions().queries, retry: false } });
  render(<App queryClient={queries} />);
  await screen.findByRole('heading', { level: 1 });
  return { fake, user: userEvent.setup() };
}

/** Render a tab of a job, as in `renderJob(1, '/checkpoints')`. Jobs are numbered from 1 in the order of src/fake/jobTemplates.ts. */
export async function renderJob(jobId: number, tab = '', options: Options = {}): Promise<Rendered> {
  const installation = options.installation ?? new Installation(Date.now());
  const rendered = await renderPage(`/jobs/${jobId}${tab}`, { ...options, installation });
  const job = installation.find(jobId);
  if (job) await screen.findByRole('heading', { level: 1, name: job.job.name });
  return rendered;
}

/** Delay the responses to requests with this method until the returned function is called. */
export function holdResponses({ fake }: Rendered, method: string): () => void {
  let release = (): void => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  const held = async (request: Request): Promise<Response> => {
    if (request.method === method) await released;
    return fake.handle(request);
  };
  onTestFinished(setTransport(held));
  return release;
}
