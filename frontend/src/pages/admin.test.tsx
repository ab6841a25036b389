import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { Installation } from '../fake/installation';
import { renderPage } from '../testing/render';

const paths = (requests: readonly Request[], method: string): string[] => requests.filter((one) => one.method === method).map(({ url }) => new URL(url).pathname);

describe('users', () => {
  it('the list of users shows roles and login methods, and can be filtered by role', async () => {
    const { user } = await renderPage('/users');
    const row = (await screen.findByText('mira.holt')).closest('tr')!;
    expect(row).toHaveTextContent(/operator.*yes.*active.*OpenID Connect/);
    expect(screen.getByText('j.ortega').closest('tr')).toHaveTextContent('disabled');
    await user.click(screen.getByLabelText('Role'));
    await user.click(await screen.findByRole('option', { name: 'admin' }));
    expect(await screen.findByText('1–1 of 1')).toBeVisible();
    expect(screen.queryByText('mira.holt')).toBeNull();
  });

  it('a user can be created with a role and without a password', async () => {
    const { fake, user } = await renderPage('/users/create');
    await user.type(await screen.findByLabelText(/Name/), 'nora');
    await user.click(screen.getByLabelText(/^operator/));
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Users' })).toBeVisible();
    expect(fake.installation.administration.users.at(-1)).toMatchObject({ name: 'nora', role: 'operator', rollback: false, has_password: false });
  });

  it('an invalid user name is reported at its field', async () => {
    const { fake, user } = await renderPage('/users/create');
    await user.type(await screen.findByLabelText(/Name/), ' two  spaces');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText(/separated by single spaces/)).toBeVisible();
    expect(paths(fake.requests, 'POST')).toEqual([]);
  });

  it('the request that disables a user contains the version that the administrator saw', async () => {
    const { fake, user } = await renderPage('/users/4');
    await user.click(await screen.findByLabelText(/^Disabled/));
    await user.click(screen.getByRole('button', { name: 'Save' }));
    expect(await screen.findByText('disabled')).toBeVisible();
    const change = fake.requests.find(({ method }) => method === 'PATCH')!;
    expect([change.headers.get('If-Match'), await change.json()]).toEqual(['"1"', { disabled: true }]);
  });

  it('the new password of a user is shown once', async () => {
    const { fake, user } = await renderPage('/users/4');
    await user.click(await screen.findByRole('button', { name: 'Set password' }));
    await user.click(await screen.findByRole('button', { name: 'Generate password' }));
    const field = await screen.findByLabelText<HTMLInputElement>('Password');
    const sent = (await fake.requests.find(({ method }) => method === 'PATCH')!.json()) as { password: string };
    expect(sent.password).toHaveLength(20);
    expect(field.value).toBe(sent.password);
    await user.click(screen.getByRole('button', { name: 'Done' }));
    expect(await screen.findByRole('button', { name: 'Reset password' })).toBeVisible();
    expect(document.body.innerHTML).not.toContain(sent.password);
  });

  it('the page of the last administrator shows that this user cannot be deleted', async () => {
    const { fake, user } = await renderPage('/users/1');
    expect(await screen.findByText(/This is your account/)).toBeVisible();
    await user.click(await screen.findByRole('button', { name: 'Delete' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByText(/This is the last enabled administrator/)).toBeVisible();
    expect(fake.installation.administration.users).toHaveLength(6);
  });
});

describe('tokens', () => {
  it('the list of tokens contains the current user\'s tokens, or all tokens if an administrator selects all users', async () => {
    const { user } = await renderPage('/tokens');
    expect(await screen.findByText('deployments from CI')).toBeVisible();
    expect(screen.queryByText('nightly deploy')).toBeNull();
    await user.click(screen.getByLabelText('User'));
    await user.click(await screen.findByRole('option', { name: 'all users' }));
    const row = (await screen.findByText('nightly deploy')).closest('tr')!;
    expect(await within(row).findByText('deploy-bot')).toBeVisible();
    expect(screen.queryByText('nightly deploy, the first')).toBeNull();
  });

  it('the list of tokens marks the token of the current session', async () => {
    await renderPage('/tokens');
    const row = (await screen.findByText('password')).closest('tr')!;
    expect(await within(row).findByText('this session')).toBeVisible();
    expect(screen.getAllByText('this session')).toHaveLength(1);
  });

  it('an empty list of tokens has an empty state', async () => {
    await renderPage('/tokens', { as: 'viewer' });
    expect(await screen.findByText('No valid tokens')).toBeVisible();
  });

  it('a new token is shown once, can be copied, and is not stored in the browser', async () => {
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
    await user.click(screen.getByRole('link', { name: 'Done' }));
    expect(await screen.findByText('nightly')).toBeVisible();
    expect(document.body.innerHTML + JSON.stringify({ ...localStorage })).not.toContain(secret);
  });

  it('a token is revoked after a confirmation', async () => {
    const { fake, user } = await renderPage('/tokens');
    await user.click(await screen.findByRole('button', { name: 'Revoke grafana' }));
    expect(await screen.findByRole('button', { name: 'Cancel' })).toHaveFocus();
    expect(paths(fake.requests, 'DELETE')).toEqual([]);
    await user.click(screen.getByRole('button', { name: 'Revoke token' }));
    expect(await screen.findByText('Token grafana revoked')).toBeVisible();
    expect(paths(fake.requests, 'DELETE')).toEqual(['/api/v1/tokens/3']);
  });
});

describe('the audit log', () => {
  it('the audit log shows the values before and after a change', async () => {
    const { user } = await renderPage('/audit');
    const row = (await screen.findByText('disabled, role')).closest('tr')!;
    await user.click(within(row).getByText('update'));
    const table = await screen.findByRole('table', { name: 'Before and after' });
    expect(within(table).getAllByRole('row').map(({ textContent }) => textContent)).toEqual(['FieldBeforeAfter', 'disabledfalsetrue', 'roleoperatorviewer']);
  });

  it('the audit log links to the resources of its entries', async () => {
    const installation = new Installation(Date.now());
    const { plans: [plan], job } = installation.find(1)!;
    installation.administration.recordAudit(installation.nowMs, 'admin', 'apply', 'plan', plan!.id!, null, null, job);
    await renderPage('/audit', { installation });
    expect(await screen.findByRole('link', { name: `plan ${plan!.id} of job ${job.name}` })).toHaveAttribute('href', `/jobs/1/recovery/${plan!.id}`);
    expect(decodeURIComponent(screen.getByRole('link', { name: 'token nightly deploy, the first' }).getAttribute('href')!)).toBe('/tokens?filter={"everybody":true,"name":"nightly+deploy,+the+first"}');
    expect(screen.getByRole('link', { name: 'job flights-delays' })).toHaveAttribute('href', '/jobs/1');
    expect(screen.getByRole('link', { name: 'version 2 of job flights-delays' })).toHaveAttribute('href', '/jobs/1/versions');
    // The job of this plan no longer exists.
    expect(screen.getByRole('cell', { name: 'plan 3 of job flights-delays' })).toBeVisible();
    expect(screen.queryByRole('link', { name: 'plan 3 of job flights-delays' })).toBeNull();
    expect(screen.queryByRole('link', { name: 'session' })).toBeNull();
  });

  it('the audit log can be filtered by user and resource, and has an empty state if no entry matches', async () => {
    const { user } = await renderPage('/audit');
    await screen.findByText('disabled, role');
    await user.click(screen.getByLabelText('Resource'));
    await user.click(await screen.findByRole('option', { name: 'plan' }));
    expect(await screen.findByText('1–1 of 1')).toBeVisible();
    await user.type(screen.getByLabelText('User'), 'unknown');
    expect(await screen.findByText('No results match the filters')).toBeVisible();
    await user.click(screen.getByRole('button', { name: 'Clear filters' }));
    expect(await screen.findByText('disabled, role')).toBeVisible();
  });
});

describe('alerts and their rules', () => {
  it('the page of alerts lists firing alerts above resolved alerts', async () => {
    await renderPage('/alerts', { as: 'viewer' });
    const firing = await screen.findByRole('region', { name: 'Firing' });
    expect(await within(firing).findByText(/more than 1,000,000/)).toBeVisible();
    expect(await within(firing).findByRole('link', { name: 'payments-fraud-score' })).toHaveAttribute('href', '/jobs/2');
    const over = screen.getByRole('region', { name: 'Resolved' });
    expect(await within(over).findByText('checkpoint 32 is completed')).toBeVisible();
    expect(within(over).getByText('old rule (deleted)')).toBeVisible();
  });

  it('an operator can create an alert rule with a condition of the selected kind', async () => {
    const { fake, user } = await renderPage('/alert-rules/create', { as: 'operator' });
    await user.type(await screen.findByLabelText(/Name/), 'too often');
    await user.click(screen.getByLabelText(/Condition/));
    await user.click(await screen.findByRole('option', { name: 'failures in a row' }));
    expect(screen.queryByLabelText(/Minutes/)).toBeNull();
    await user.clear(await screen.findByLabelText(/Count/));
    await user.type(screen.getByLabelText(/Count/), '5');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Alert rules' })).toBeVisible();
    expect(fake.installation.administration.rules.at(-1)).toMatchObject({ name: 'too often', job_id: null, webhook_id: null, enabled: true, condition: { kind: 'failures', count: 5 } });
  });

  it('an alert rule for a lag needs a limit', async () => {
    const { fake, user } = await renderPage('/alert-rules/create', { as: 'operator' });
    await user.type(await screen.findByLabelText(/Name/), 'late');
    await user.click(screen.getByLabelText(/Condition/));
    await user.click(await screen.findByRole('option', { name: 'lag' }));
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText(/Enter a limit/)).toBeVisible();
    expect(paths(fake.requests, 'POST')).toEqual([]);
  });

  it('a viewer cannot change an alert rule', async () => {
    await renderPage('/alert-rules/1', { as: 'viewer' });
    expect(await screen.findByText('no checkpoint for 10 min')).toBeVisible();
    for (const name of ['Save', 'Delete']) expect(screen.queryByRole('button', { name })).toBeNull();
  });
});

describe('webhooks', () => {
  it('the page of a webhook can send a test message, and shows its delivery', async () => {
    const { fake, user } = await renderPage('/webhooks/2');
    await user.click(await screen.findByRole('button', { name: 'Send test message' }));
    expect(await screen.findByText('waiting for a worker')).toBeVisible();
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(within(await screen.findByRole('region', { name: 'Test' })).getByRole('status')).toBeVisible();
    expect(await screen.findByText('failed', { selector: '[role=status] *' }, { timeout: 5_000 })).toBeVisible();
    expect(screen.getAllByText('the receiver responded with 503 Service Unavailable').length).toBeGreaterThan(0);
  });

  it('an administrator can change a webhook, but cannot delete a webhook that a rule uses', async () => {
    const { fake, user } = await renderPage('/webhooks/1');
    await user.clear(await screen.findByLabelText(/Signing key reference/));
    await user.click(screen.getByRole('button', { name: 'Save' }));
    expect(await screen.findByText('none (messages are not signed)')).toBeVisible();
    expect(await fake.requests.find(({ method }) => method === 'PATCH')!.json()).toEqual({ secret_reference: null });
    await user.click(await screen.findByRole('button', { name: 'Delete' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByText(/Alert rule 1 uses webhook 1/)).toBeVisible();
  });

  it('the form of a webhook of PagerDuty requires a routing key', async () => {
    const { fake, user } = await renderPage('/webhooks/create');
    await user.type(await screen.findByLabelText(/Name/), 'pager');
    expect(screen.getByLabelText(/Signing key reference/)).toBeVisible();
    await user.click(screen.getByLabelText(/Format/));
    await user.click(await screen.findByRole('option', { name: 'PagerDuty' }));
    await user.type(screen.getByLabelText(/URL/), 'https://events.pagerduty.com/v2/enqueue');
    await user.click(screen.getByRole('checkbox', { name: 'Plans' }));
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText('Required')).toBeVisible();
    expect(paths(fake.requests, 'POST')).toEqual([]);
    await user.type(screen.getByLabelText(/Routing key reference/), 'env:WEIR_WEBHOOK_KEY_PAGER');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    await waitFor(() => expect(fake.installation.administration.webhooks.at(-1)).toMatchObject({ name: 'pager', format: 'pagerduty', events: ['alerts', 'plans'], secret_reference: 'env:WEIR_WEBHOOK_KEY_PAGER' }));
  });

  it('the list of webhooks shows their formats and events', async () => {
    await renderPage('/webhooks', { as: 'viewer' });
    const row = (await screen.findByRole('link', { name: 'chat' })).closest('tr')!;
    expect(within(row).getByText('Slack')).toBeVisible();
    expect(within(row).getByText('alerts, operations, plans')).toBeVisible();
  });

  it('every user can see the deliveries of a webhook, but only administrators can see its URL', async () => {
    await renderPage('/webhooks/2', { as: 'operator' });
    expect(await screen.findByText('alert 7: firing')).toBeVisible();
    expect(screen.getByText('plan 3: applied')).toBeVisible();
    expect(screen.getByText('http://chat.weir.example:8080')).toBeVisible();
    expect(screen.queryByLabelText(/URL/)).toBeNull();
    for (const name of ['Save', 'Delete', 'Send test message']) expect(screen.queryByRole('button', { name })).toBeNull();
  });
});

describe('secrets', () => {
  it('a secret can be created with a value of several lines, and the page does not show the value again', async () => {
    const { fake, user } = await renderPage('/secrets/create');
    await user.type(await screen.findByLabelText(/Name/), 'tls-key');
    await user.type(screen.getByLabelText(/Value/), 'planted{Enter}line 2');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Secrets' })).toBeVisible();
    expect(await fake.requests.find(({ method }) => method === 'POST')!.json()).toMatchObject({ name: 'tls-key', value: 'planted\nline 2' });
    expect(await screen.findByText('secret:tls-key')).toBeVisible();
    expect(document.body.innerHTML).not.toContain('planted');
  });

  it('the name and the value of a new secret are required', async () => {
    const { fake, user } = await renderPage('/secrets/create');
    await user.type(await screen.findByLabelText(/Name/), 'a b');
    await user.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText('Use letters, digits and . _ - without spaces')).toBeVisible();
    expect(await screen.findByText('Required')).toBeVisible();
    expect(paths(fake.requests, 'POST')).toEqual([]);
  });

  it('the value of a secret can be replaced, and the request contains only the changed fields', async () => {
    const { fake, user } = await renderPage('/secrets/2');
    await user.type(await screen.findByLabelText(/New value/), 'planted');
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await waitFor(() => expect(screen.getByLabelText(/New value/)).toHaveValue(''));
    const change = fake.requests.find(({ method }) => method === 'PATCH')!;
    expect([change.headers.get('If-Match'), await change.json()]).toEqual(['"1"', { value: 'planted' }]);
    expect(document.body.innerHTML).not.toContain('planted');
  });

  it('the description can be changed without the value', async () => {
    const { fake, user } = await renderPage('/secrets/2');
    const field = await screen.findByLabelText(/Description/);
    await user.clear(field);
    await user.type(field, 'maps');
    await user.click(screen.getByRole('button', { name: 'Save' }));
    await waitFor(() => expect(fake.installation.administration.secrets[1]).toMatchObject({ description: 'maps', version: 2 }));
    expect(await fake.requests.find(({ method }) => method === 'PATCH')!.json()).toEqual({ description: 'maps' });
  });

  it('a secret that a job uses cannot be deleted, and the error names the job', async () => {
    const { user } = await renderPage('/secrets/1');
    await user.click(await screen.findByRole('button', { name: 'Delete' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByText(/refer to secret 'kafka-orders': 'flights-delays'/)).toBeVisible();
  });
});

it.each([['/alert-rules/999', '/alert-rules'], ['/users/999', '/users'], ['/webhooks/999', '/webhooks'], ['/secrets/999', '/secrets']])('%s shows that the record does not exist, with a link to the list', async (path, list) => {
  await renderPage(path);
  expect(await screen.findByText(/^The .* 999 does not exist\.$/)).toBeVisible();
  expect(screen.getByRole('link', { name: 'Back to list' })).toHaveAttribute('href', list);
  expect(globalThis.location.pathname).toBe(path);
});

describe('the user menu', () => {
  it.each([['admin', 'admin, may roll back', '/users/1'], ['viewer', 'viewer', '/tokens']] as const)('the user menu of a %s shows the role, and links to the account or the tokens', async (as, role, to) => {
    const { user } = await renderPage('/tokens', { as });
    await user.click(await screen.findByRole('button', { name: `${as}: account` }));
    expect(await screen.findByRole('menuitem', { name: new RegExp(`^Your .*${role}$`) })).toHaveAttribute('href', to);
  });
});

describe('actions without permission', () => {
  it.each(['/users', '/users/1', '/users/create', '/secrets', '/secrets/create', '/audit', '/webhooks/create', '/alert-rules/create'])('%s shows a viewer that access is denied, and sends no request', async (path) => {
    const { fake } = await renderPage(path, { as: 'viewer' });
    expect(await screen.findByRole('heading', { level: 1, name: 'Access denied' })).toBeVisible();
    expect(screen.getByText(/This page requires the role (operator|admin)\./)).toBeVisible();
    expect(fake.requests.filter(({ url }) => /\/(users|secrets|audit|webhooks|alert-rules)\b/.test(new URL(url).pathname))).toEqual([]);
  });

  it.each([['viewer', ['Alerts', 'Alert rules', 'Webhooks', 'Tokens']], ['admin', ['Alerts', 'Alert rules', 'Webhooks', 'Tokens', 'Users', 'Secrets', 'Audit log']]] as const)(
    'the main menu of a %s contains only permitted pages', async (as, offered) => {
      await renderPage('/alerts', { as });
      await screen.findByRole('region', { name: 'Firing' });
      const names = screen.getAllByRole('menuitem').map(({ textContent }) => textContent);
      expect(names).toEqual(['Home', 'Jobs', ...offered]);
    },
  );

  it.each(['/alert-rules', '/webhooks'])('%s shows a viewer no link for creating a record', async (path) => {
    await renderPage(path, { as: 'viewer' });
    await screen.findByRole('table');
    expect(screen.queryByRole('link', { name: /New/ })).toBeNull();
  });
});
