import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { World } from '../fake/world';
import { renderPage } from '../testing/render';

const written = (asked: readonly Request[], method: string): string[] => asked.filter((one) => one.method === method).map(({ url }) => new URL(url).pathname);

describe('users', () => {
  it('are listed with what they may and how they log in, and found by role', async () => {
    const { user } = await renderPage('/users');
    const row = (await screen.findByText('mira.holt')).closest('tr')!;
    expect(row).toHaveTextContent(/operator.*yes.*active.*OpenID Connect/);
    expect(screen.getByText('j.ortega').closest('tr')).toHaveTextContent('disabled');
    await user.click(screen.getByLabelText('Role'));
    await user.click(await screen.findByRole('option', { name: 'admin' }));
    expect(await screen.findByText('1–1 of 1')).toBeVisible();
    expect(screen.queryByText('mira.holt')).toBeNull();
  });

  it('are made with a role and without a password', async () => {
    const { fake, user } = await renderPage('/users/create');
    await user.type(await screen.findByLabelText(/Name/), 'nora');
    await user.click(screen.getByLabelText(/^operator/));
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Users' })).toBeVisible();
    expect(fake.world.office.users.at(-1)).toMatchObject({ name: 'nora', role: 'operator', rollback: false, has_password: false });
  });

  it('say beside the field why a name cannot be taken', async () => {
    const { fake, user } = await renderPage('/users/create');
    await user.type(await screen.findByLabelText(/Name/), ' two  spaces');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText(/with single spaces in between/)).toBeVisible();
    expect(written(fake.asked, 'POST')).toEqual([]);
  });

  it('are disabled by a change of what was seen', async () => {
    const { fake, user } = await renderPage('/users/4');
    await user.click(await screen.findByLabelText(/^Disabled/));
    await user.click(screen.getByRole('button', { name: 'Save' }));
    expect(await screen.findByText('disabled')).toBeVisible();
    const change = fake.asked.find(({ method }) => method === 'PATCH')!;
    expect([change.headers.get('If-Match'), await change.json()]).toEqual(['"1"', { disabled: true }]);
  });

  it('get a new password that is shown once', async () => {
    const { fake, user } = await renderPage('/users/4');
    await user.click(await screen.findByRole('button', { name: 'Give a password' }));
    await user.click(await screen.findByRole('button', { name: 'Make a new one' }));
    const field = await screen.findByLabelText<HTMLInputElement>('Password');
    const sent = (await fake.asked.find(({ method }) => method === 'PATCH')!.json()) as { password: string };
    expect(sent.password).toHaveLength(20);
    expect(field.value).toBe(sent.password);
    await user.click(screen.getByRole('button', { name: 'I have it' }));
    expect(await screen.findByRole('button', { name: 'Reset the password' })).toBeVisible();
    expect(document.body.innerHTML).not.toContain(sent.password);
  });

  it('stay if the backend wants one administrator to be left, and it says so', async () => {
    const { fake, user } = await renderPage('/users/1');
    expect(await screen.findByText(/This is you/)).toBeVisible();
    await user.click(await screen.findByRole('button', { name: 'Delete' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByText(/This is the last administrator/)).toBeVisible();
    expect(fake.world.office.users).toHaveLength(6);
  });
});

describe('tokens', () => {
  it('of one’s own are listed, and of everybody for administrators who want that', async () => {
    const { user } = await renderPage('/tokens');
    expect(await screen.findByText('deployments from CI')).toBeVisible();
    expect(screen.queryByText('nightly deploy')).toBeNull();
    await user.click(screen.getByLabelText('Whose'));
    await user.click(await screen.findByRole('option', { name: 'everybody’s' }));
    const row = (await screen.findByText('nightly deploy')).closest('tr')!;
    expect(await within(row).findByText('deploy-bot')).toBeVisible();
    expect(screen.queryByText('nightly deploy, the first')).toBeNull();
  });

  it('name the one that one is logged in by', async () => {
    await renderPage('/tokens');
    const row = (await screen.findByText('password')).closest('tr')!;
    expect(await within(row).findByText('this session')).toBeVisible();
    expect(screen.getAllByText('this session')).toHaveLength(1);
  });

  it('are none of a viewer who has made none, who is told so and how', async () => {
    await renderPage('/tokens', { as: 'viewer' });
    expect(await screen.findByText('You have no token that is valid')).toBeVisible();
  });

  it('are shown once when they are made, can be copied, and are kept nowhere', async () => {
    const { user } = await renderPage('/tokens/create', { as: 'operator' });
    await user.type(await screen.findByLabelText(/Name/), 'nightly');
    expect(screen.queryByLabelText(/^admin/)).toBeNull();
    expect(screen.queryByLabelText(/May roll back/)).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Create' }));
    const field = await screen.findByLabelText<HTMLInputElement>('Token');
    const secret = field.value;
    expect(secret).toMatch(/^weir_/);
    await user.click(screen.getByRole('button', { name: 'Copy' }));
    expect(await screen.findByText('Copied')).toBeVisible();
    expect(await navigator.clipboard.readText()).toBe(secret);
    await user.click(screen.getByRole('link', { name: 'I have it' }));
    expect(await screen.findByText('nightly')).toBeVisible();
    expect(document.body.innerHTML + JSON.stringify({ ...localStorage })).not.toContain(secret);
  });

  it('are revoked once that is confirmed', async () => {
    const { fake, user } = await renderPage('/tokens');
    await user.click(await screen.findByRole('button', { name: 'Revoke grafana' }));
    expect(await screen.findByRole('button', { name: 'Leave it' })).toHaveFocus();
    expect(written(fake.asked, 'DELETE')).toEqual([]);
    await user.click(screen.getByRole('button', { name: 'Revoke' }));
    expect(await screen.findByText('grafana is revoked')).toBeVisible();
    expect(written(fake.asked, 'DELETE')).toEqual(['/api/v1/tokens/3']);
  });
});

describe('the audit', () => {
  it('shows what was before and what after', async () => {
    const { user } = await renderPage('/audit');
    const row = (await screen.findByText('disabled, role')).closest('tr')!;
    await user.click(within(row).getByText('update'));
    const table = await screen.findByRole('table', { name: 'Before and after' });
    expect(within(table).getAllByRole('row').map(({ textContent }) => textContent)).toEqual(['FieldBeforeAfter', 'disabledfalsetrue', 'roleoperatorviewer']);
  });

  it('leads to what its entries are about', async () => {
    const world = new World(Date.now());
    const [plan] = world.find(1)!.plans;
    world.office.note(world.nowMs, 'admin', 'apply', 'plan', plan!.id!, null, null);
    await renderPage('/audit', { world });
    expect(await screen.findByRole('link', { name: `plan ${plan!.id}` })).toHaveAttribute('href', `/jobs/1/recovery/${plan!.id}`);
    expect(decodeURIComponent(screen.getByRole('link', { name: 'token 7' }).getAttribute('href')!)).toBe('/tokens?filter={"everybody":true,"name":"nightly+deploy,+the+first"}');
    expect(screen.getByRole('link', { name: 'job 1' })).toHaveAttribute('href', '/jobs/1');
    expect(screen.queryByRole('link', { name: 'session 1' })).toBeNull();
  });

  it('is filtered by who and what, and says when nothing fits', async () => {
    const { user } = await renderPage('/audit');
    await screen.findByText('disabled, role');
    await user.click(screen.getByLabelText('Of what'));
    await user.click(await screen.findByRole('option', { name: 'plan' }));
    expect(await screen.findByText('1–1 of 1')).toBeVisible();
    await user.type(screen.getByLabelText('Name of the user'), 'nobody');
    expect(await screen.findByText('Nothing fits these filters')).toBeVisible();
    await user.click(screen.getByRole('button', { name: 'Clear the filters' }));
    expect(await screen.findByText('disabled, role')).toBeVisible();
  });
});

describe('alerts and their rules', () => {
  it('fire above those that are over', async () => {
    await renderPage('/alerts', { as: 'viewer' });
    const firing = await screen.findByRole('region', { name: 'Firing' });
    expect(await within(firing).findByText(/more than 1,000,000/)).toBeVisible();
    expect(await within(firing).findByRole('link', { name: 'payments-fraud-score' })).toHaveAttribute('href', '/jobs/2');
    const over = screen.getByRole('region', { name: 'Resolved' });
    expect(await within(over).findByText('checkpoint 32 has completed')).toBeVisible();
    expect(within(over).getByText('old rule (deleted)')).toBeVisible();
  });

  it('are written by operators, with the condition of the kind that was chosen', async () => {
    const { fake, user } = await renderPage('/alert-rules/create', { as: 'operator' });
    await user.type(await screen.findByLabelText(/Name/), 'too often');
    await user.click(screen.getByLabelText(/Fires on/));
    await user.click(await screen.findByRole('option', { name: 'failures in a row' }));
    expect(screen.queryByLabelText(/Minutes/)).toBeNull();
    await user.clear(await screen.findByLabelText(/How often/));
    await user.type(screen.getByLabelText(/How often/), '5');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Alert rules' })).toBeVisible();
    expect(fake.world.office.rules.at(-1)).toMatchObject({ name: 'too often', job_id: null, webhook_id: null, enabled: true, condition: { kind: 'failures', count: 5 } });
  });

  it('want a limit of a lag', async () => {
    const { fake, user } = await renderPage('/alert-rules/create', { as: 'operator' });
    await user.type(await screen.findByLabelText(/Name/), 'late');
    await user.click(screen.getByLabelText(/Fires on/));
    await user.click(await screen.findByRole('option', { name: 'lag' }));
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText(/Say how far behind/)).toBeVisible();
    expect(written(fake.asked, 'POST')).toEqual([]);
  });

  it('can be read by who may only look, who is offered nothing', async () => {
    await renderPage('/alert-rules/1', { as: 'viewer' });
    expect(await screen.findByText('no checkpoint for 10 min')).toBeVisible();
    for (const name of ['Save', 'Delete']) expect(screen.queryByRole('button', { name })).toBeNull();
  });
});

describe('webhooks', () => {
  it('send a test, and say what came of it', async () => {
    const { fake, user } = await renderPage('/webhooks/2');
    await user.click(await screen.findByRole('button', { name: 'Send a test' }));
    expect(await screen.findByText('a worker is about to send it')).toBeVisible();
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(within(await screen.findByRole('region', { name: 'Does it work?' })).getByRole('status')).toBeVisible();
    expect(await screen.findByText('given up', { selector: '[role=status] *' }, { timeout: 5_000 })).toBeVisible();
    expect(screen.getAllByText('it answered 503 Service Unavailable').length).toBeGreaterThan(0);
  });

  it('are changed by administrators, and not deleted while a rule names them', async () => {
    const { fake, user } = await renderPage('/webhooks/1');
    await user.clear(await screen.findByLabelText(/Where its key is/));
    await user.click(screen.getByRole('button', { name: 'Save' }));
    expect(await screen.findByText('messages are not signed')).toBeVisible();
    expect(await fake.asked.find(({ method }) => method === 'PATCH')!.json()).toEqual({ secret_reference: null });
    await user.click(await screen.findByRole('button', { name: 'Delete' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByText(/is named by rule 1/)).toBeVisible();
  });

  it('show their deliveries to everybody, and their address to administrators only', async () => {
    await renderPage('/webhooks/2', { as: 'operator' });
    expect(await screen.findByText('alert 7: it fires')).toBeVisible();
    expect(screen.getByText('http://chat.weir.example:8080')).toBeVisible();
    expect(screen.queryByLabelText(/URL/)).toBeNull();
    for (const name of ['Save', 'Delete', 'Send a test']) expect(screen.queryByRole('button', { name })).toBeNull();
  });
});

it.each([['/alert-rules/999', '/alert-rules'], ['/users/999', '/users'], ['/webhooks/999', '/webhooks']])('%s says that it is not there, and leads to the list', async (path, list) => {
  await renderPage(path);
  expect(await screen.findByText(/^There is no .* 999\.$/)).toBeVisible();
  expect(screen.getByRole('link', { name: 'Back to the list' })).toHaveAttribute('href', list);
  expect(globalThis.location.pathname).toBe(path);
});

describe('the menu of the account', () => {
  it.each([['admin', 'admin, may roll back', '/users/1'], ['viewer', 'viewer', '/tokens']] as const)('says to a %s what he may, and leads there', async (as, role, to) => {
    const { user } = await renderPage('/tokens', { as });
    await user.click(await screen.findByRole('button', { name: `${as}: account` }));
    expect(await screen.findByRole('menuitem', { name: new RegExp(`^Your .*${role}$`) })).toHaveAttribute('href', to);
  });
});

describe('what a role may not do', () => {
  it.each(['/users', '/users/1', '/users/create', '/audit', '/webhooks/create', '/alert-rules/create'])('whoever comes to %s by its address is told so, and nothing is asked for', async (path) => {
    const { fake } = await renderPage(path, { as: 'viewer' });
    expect(await screen.findByRole('heading', { level: 1, name: 'Access denied' })).toBeVisible();
    expect(screen.getByText(/It needs the role (operator|admin):/)).toBeVisible();
    expect(fake.asked.filter(({ url }) => /\/(users|audit|webhooks|alert-rules)\b/.test(new URL(url).pathname))).toEqual([]);
  });

  it.each([['viewer', ['Alerts', 'Alert rules', 'Webhooks', 'Tokens']], ['admin', ['Alerts', 'Alert rules', 'Webhooks', 'Tokens', 'Users', 'Audit']]] as const)(
    'is not in the menu of a %s', async (as, offered) => {
      await renderPage('/alerts', { as });
      await screen.findByRole('region', { name: 'Firing' });
      const names = screen.getAllByRole('menuitem').map(({ textContent }) => textContent);
      expect(names).toEqual(['Home', 'Jobs', ...offered]);
    },
  );

  it.each(['/alert-rules', '/webhooks'])('is not offered on %s', async (path) => {
    await renderPage(path, { as: 'viewer' });
    await screen.findByRole('table');
    expect(screen.queryByRole('link', { name: /New/ })).toBeNull();
  });
});
