import { cleanup, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderPage } from '../../testing/render';

describe('logging in', () => {
  it('is asked of whoever is not, and leads to where he wanted to go', async () => {
    const { user } = await renderPage('/jobs/1/runs', { as: null });
    expect(screen.getByRole('heading', { name: 'Log in to Weir' })).toBeVisible();
    await user.type(screen.getByLabelText(/Name/), 'operator');
    await user.type(screen.getByLabelText(/Password/), 'weir');
    await user.click(screen.getByRole('button', { name: 'Log in' }));
    expect(await screen.findByRole('tab', { name: 'Runs', selected: true })).toBeVisible();
  });

  it('is no error at the first visit: nothing is asked that is refused', async () => {
    const { fake } = await renderPage('/', { as: null });
    expect(screen.queryByRole('alert')).toBeNull();
    expect(fake.asked.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual(['GET /api/v1/session/visit']);
  });

  it('offers the provider of OpenID Connect where there is one, by its name', async () => {
    await renderPage('/', { as: null });
    expect(screen.queryByRole('link')).toBeNull();
    cleanup();
    await renderPage('/', { as: null, oidc: { name: 'Example Inc.', begin: '/api/v1/session/oidc' } });
    expect(await screen.findByRole('link', { name: 'Log in with Example Inc.' })).toHaveAttribute('href', '/api/v1/session/oidc');
  });

  it('says what the backend says when it is refused', async () => {
    const { user } = await renderPage('/', { as: null });
    await user.type(screen.getByLabelText(/Name/), 'operator');
    await user.type(screen.getByLabelText(/Password/), 'wrong');
    await user.click(screen.getByRole('button', { name: 'Log in' }));
    expect(await screen.findByText('Name and password do not fit, or the account is disabled. Try again.')).toBeVisible();
  });

  it('says that the control plane is out of reach, and not that the password is wrong', async () => {
    const { fake, user } = await renderPage('/', { as: null });
    fake.away = true;
    await user.type(screen.getByLabelText(/Name/), 'operator');
    await user.type(screen.getByLabelText(/Password/), 'weir');
    await user.click(screen.getByRole('button', { name: 'Log in' }));
    expect(await screen.findByText(/The control plane does not answer/)).toBeVisible();
  });

  it('is asked again when the session ends while a page is open', async () => {
    const { fake, user } = await renderPage('/jobs/1', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Savepoint' }));
    fake.user = null;
    await user.click((await screen.findAllByRole('button', { name: 'Savepoint' })).at(-1)!);
    expect(await screen.findByRole('heading', { name: 'Log in to Weir' })).toBeVisible();
  });
});
