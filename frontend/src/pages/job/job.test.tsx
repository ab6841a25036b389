import { render, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { Installation } from '../../fake/installation';
import { renderJob, renderPage } from '../../testing/render';
import { UnreachableDriver } from './UnreachableDriver';
import { TABS } from './tabs';
import { JobContext, type Job } from './useJob';

describe('the job page', () => {
  it.each(TABS.map(({ path, label }) => [label, path]))('opens the tab %s', async (label, path) => {
    await renderJob(1, path === '' ? '' : `/${path}`);
    expect(screen.getByRole('tab', { name: label, selected: true })).toBeVisible();
    expect(document.title).toBe(`${label} · flights-delays · Weir`);
    expect(await screen.findAllByRole('region')).not.toHaveLength(0);
    expect(screen.queryByText('That did not work')).toBeNull();
  });

  it('shows a checkpoint from its start to its end without a reload', async () => {
    const { fake } = await renderJob(1, '/checkpoints');
    const history = await screen.findByRole('region', { name: 'History' });
    await within(history).findByRole('table');
    expect(within(history).queryByText('in progress')).toBeNull();

    fake.installation.advance(fake.installation.nowMs + 7_000);
    const row = (await within(history).findByText('in progress')).closest('tr')!;
    expect(within(row).getByText(/^0 of 24$/)).toBeVisible();

    fake.installation.advance(fake.installation.nowMs + 1_000);
    expect(await within(row).findByText(/^([1-9]|1\d|2[0-3]) of 24$/)).toBeVisible();

    fake.installation.advance(fake.installation.nowMs + 60_000);
    expect(await within(row).findByText('completed')).toBeVisible();
    expect(await within(row).findByText('24 of 24')).toBeVisible();
  });

  it('shows actions to operators and sends one request after the confirmation', async () => {
    const { fake, user } = await renderJob(1, '', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Suspend' }));
    const dialog = await screen.findByRole('dialog');
    expect(within(dialog).getByText(/takes a last checkpoint and stops/)).toBeVisible();
    await user.click(within(dialog).getByRole('button', { name: 'Suspend' }));

    expect(await screen.findByRole('button', { name: 'Start' })).toBeVisible();
    const writes = fake.requests.filter(({ method }) => method === 'POST');
    expect(writes.map(({ url }) => new URL(url).pathname)).toEqual(['/api/v1/jobs/1/suspend']);
    expect(writes[0]!.headers.get('Idempotency-Key')).toMatch(/^[0-9a-f]{32}$/);
    expect(fake.installation.find(1)!.job.desired_state).toBe('SUSPENDED');
  });

  it('shows a notification of a failed operation on every tab', async () => {
    const { fake } = await renderJob(1, '/versions');
    await screen.findAllByRole('region');
    const job = fake.installation.find(1)!;
    const problem = 'The job stopped without a last checkpoint.';
    fake.installation.emit(job, 'OperationEnded', { operation: 7, operation_kind: 'cancel', state: 'SUCCEEDED', problem: null }, false);
    fake.installation.emit(job, 'OperationEnded', { operation: 8, operation_kind: 'suspend', state: 'FAILED', problem }, false);
    fake.installation.advance(fake.installation.nowMs + 1_000);
    expect(await screen.findByText(`operation 8 (suspend) failed: ${problem}`)).toBeVisible();
    expect(screen.queryByText(/^operation 7 /)).toBeNull();
  });

  it('shows no actions to viewers', async () => {
    await renderJob(1, '/runs', { as: 'viewer' });
    await screen.findByRole('table');
    for (const name of ['Suspend', 'Cancel', 'Trigger savepoint', 'Start']) expect(screen.queryByRole('button', { name })).toBeNull();
  });

  it('shows the last contact of an unreachable driver', async () => {
    await renderJob(6);
    expect(await screen.findByText(/Last contact: 5 min \d\d s ago/)).toBeVisible();
    expect(screen.getByText(/^The driver of run \d+ is unreachable\. .*whether the driver is alive\.$/)).toHaveAttribute('role', 'status');
  });

  it('shows a driver as unreachable only if the API reports it as unreachable', () => {
    const { job } = new Installation(Date.now()).find(1)!;
    const run = { ...job.run!, last_contact_at: new Date(Date.now() - 120_000).toISOString() };
    const page = (state: Job['state']) => <JobContext value={{ ...job, run: { ...run, state } }}><UnreachableDriver /></JobContext>;
    const { rerender } = render(page('RUNNING'));
    expect(screen.queryByRole('status')).toBeNull();
    rerender(page('RECONCILING'));
    expect(screen.getByText(/Last contact: (2 min|1 min 59 s) ago/)).toBeVisible();
    expect(screen.getByRole('status')).not.toHaveTextContent(/contact/);
  });

  it('a shared URL opens the comparison of two versions', async () => {
    const { user } = await renderJob(1, '/versions?compare=1..2');
    await user.click(within(await screen.findByRole('region', { name: 'Compare version 1 with version 2' })).getByRole('button', { name: 'Close' }));
    expect(globalThis.location.search).toBe('');
    expect(screen.queryByRole('region', { name: /^Compare version/ })).toBeNull();
  });

  it.each(['/no-such-tab', '/versions/99'])('shows that %s does not exist, with a link to the overview', async (path) => {
    const { user } = await renderJob(1, path);
    expect(await screen.findByText('No such page')).toBeVisible();
    expect(globalThis.location.pathname).toBe(`/jobs/1${path}`);
    await user.click(screen.getByRole('link', { name: 'Overview' }));
    expect(screen.getByRole('tab', { name: 'Overview', selected: true })).toBeVisible();
  });

  it('shows an error for a job that does not exist', async () => {
    await renderPage('/jobs/999');
    expect(await screen.findByText('Job 999 does not exist.')).toBeVisible();
    expect(screen.getByText(/Request 4f1c0a77/)).toBeVisible();
  });

  it('shows the difference between two versions', async () => {
    const { user } = await renderJob(1, '/versions');
    await user.click(await screen.findByRole('button', { name: 'Compare with version 1' }));
    const section = await screen.findByRole('region', { name: 'Compare version 1 with version 2' });
    expect(globalThis.location.search).toBe('?compare=1..2');
    expect(await within(section).findByText('checkpointing.interval')).toBeVisible();
    expect(within(section).getByText(/delay > 10/)).toBeVisible();
    await user.click(within(section).getByRole('button', { name: 'Close' }));
    expect(section).not.toBeInTheDocument();
    expect(screen.getByRole('button', { name: 'Compare with version 1' })).toHaveFocus();
  });
});
