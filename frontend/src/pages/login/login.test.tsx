import { cleanup, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderPage } from '../../testing/render';

describe('logging in', () => {
  it('a user without a session must log in, and then sees the requested page', async () => {
    const { user } = await renderPage('/jobs/1/runs', { as: null });
    expect(screen.getByRole('heading', { name: 'Log in to Weir' })).toBeVisible();
    await user.type(screen.getByLabelText(/Name/), 'operator');
    await user.type(screen.getByLabelText(/Password/), 'weir');
    await user.click(screen.getByRole('button', { name: 'Log in' }));
    expect(await screen.findByRole('tab', { name: 'Runs', selected: true })).toBeVisible();
  });

  it('the first visit sends no request that fails', async () => {
    const { fake } = await renderPage('/', { as: null });
    expect(screen.queryByRole('alert')).toBeNull();
    expect(fake.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual(['GET /api/v1/session/status']);
  });

  it('the log-in page shows the name of the configured OpenID Connect provider', async () => {
    await renderPage('/', { as: null });
    expect(screen.queryByRole('link')).toBeNull();
    cleanup();
    await renderPage('/', { as: null, oidc: { name: 'Example Inc.', login_path: '/api/v1/session/oidc' } });
    expect(await screen.findByRole('link', { name: 'Log in with Example Inc.' })).toHaveAttribute('href', '/api/v1/session/oidc');
  });

  it('the log-in page shows the error of the API', async () => {
    const { user } = await renderPage('/', { as: null });
    await user.type(screen.getByLabelText(/Name/), 'operator');
    await user.type(screen.getByLabelText(/Password/), 'wrong');
    await user.click(screen.getByRole('button', { name: 'Log in' }));
    expect(await screen.findByText('Incorrect user name or password. Try again, or ask an administrator whether the account is disabled.')).toBeVisible();
  });

  it('an unreachable API is not reported as a wrong password', async () => {
    const { fake, user } = await renderPage('/', { as: null });
    fake.unreachable = true;
    await user.type(screen.getByLabelText(/Name/), 'operator');
    await user.type(screen.getByLabelText(/Password/), 'weir');
    await user.click(screen.getByRole('button', { name: 'Log in' }));
    expect(await screen.findByText(/The API does not respond\./)).toBeVisible();
  });

  it('the user must log in again if the session ends while a page is open', async () => {
    const { fake, user } = await renderPage('/jobs/1', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Trigger savepoint' }));
    fake.user = null;
    await user.click((await screen.findAllByRole('button', { name: 'Trigger savepoint' })).at(-1)!);
    expect(await screen.findByRole('heading', { name: 'Log in to Weir' })).toBeVisible();
  });
});
