import { render, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { World } from '../../fake/world';
import { renderJob, renderPage } from '../../testing/render';
import { RunOutOfReach } from './RunOutOfReach';
import { TABS } from './tabs';
import { JobContext, type Job } from './useJob';

describe('the page of a job', () => {
  it.each(TABS.map(({ path, label }) => [label, path]))('opens the tab %s', async (label, path) => {
    await renderJob(1, path === '' ? '' : `/${path}`);
    expect(screen.getByRole('tab', { name: label, selected: true })).toBeVisible();
    expect(document.title).toBe(`${label} · flights-delays · Weir`);
    expect(await screen.findAllByRole('region')).not.toHaveLength(0);
    expect(screen.queryByText('That did not work')).toBeNull();
  });

  it('shows a checkpoint that begins, grows and completes, without being asked to', async () => {
    const { fake } = await renderJob(1, '/checkpoints');
    const history = await screen.findByRole('region', { name: 'History' });
    await within(history).findByRole('table');
    expect(within(history).queryByText('in progress')).toBeNull();

    fake.world.advance(fake.world.nowMs + 7_000);
    const row = (await within(history).findByText('in progress')).closest('tr')!;
    expect(within(row).getByText(/^0 of 24$/)).toBeVisible();

    fake.world.advance(fake.world.nowMs + 1_000);
    expect(await within(row).findByText(/^([1-9]|1\d|2[0-3]) of 24$/)).toBeVisible();

    fake.world.advance(fake.world.nowMs + 60_000);
    expect(await within(row).findByText('completed')).toBeVisible();
    expect(await within(row).findByText('24 of 24')).toBeVisible();
  });

  it('offers verbs to who may operate, and asks before it does them, once', async () => {
    const { fake, user } = await renderJob(1, '', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Suspend' }));
    const dialog = await screen.findByRole('dialog');
    expect(within(dialog).getByText(/stops with a last checkpoint/)).toBeVisible();
    await user.click(within(dialog).getByRole('button', { name: 'Suspend' }));

    expect(await screen.findByRole('button', { name: 'Start' })).toBeVisible();
    const writes = fake.asked.filter(({ method }) => method === 'POST');
    expect(writes.map(({ url }) => new URL(url).pathname)).toEqual(['/api/v1/jobs/1/suspend']);
    expect(writes[0]!.headers.get('Idempotency-Key')).toMatch(/^[0-9a-f]{32}$/);
    expect(fake.world.find(1)!.job.desired_state).toBe('SUSPENDED');
  });

  it('says why what was asked for has failed, whichever tab is open', async () => {
    const { fake } = await renderJob(1, '/versions');
    await screen.findAllByRole('region');
    const job = fake.world.find(1)!;
    const problem = 'the job has stopped, but without a last checkpoint';
    fake.world.tell(job, 'OperationEnded', { operation: 7, kind_: 'cancel', state: 'SUCCEEDED', problem: null }, false);
    fake.world.tell(job, 'OperationEnded', { operation: 8, kind_: 'suspend', state: 'FAILED', problem }, false);
    fake.world.advance(fake.world.nowMs + 1_000);
    expect(await screen.findByText(`suspend 8: failed: ${problem}`)).toBeVisible();
    expect(screen.queryByText(/^cancel 7/)).toBeNull();
  });

  it('offers nothing to who may only look', async () => {
    await renderJob(1, '/runs', { as: 'viewer' });
    await screen.findByRole('table');
    for (const name of ['Suspend', 'Cancel', 'Savepoint', 'Start']) expect(screen.queryByRole('button', { name })).toBeNull();
  });

  it('says how long a driver was not heard of', async () => {
    await renderJob(6);
    expect(await screen.findByText(/was last heard 5 min \d\d s ago/)).toBeVisible();
    expect(screen.getByText(/^Nothing is heard of the driver of run \d+: .*whether it lives is being found out\.$/)).toHaveAttribute('role', 'status');
  });

  it('leaves it to the server to say that nothing is heard of a driver', () => {
    const { job } = new World(Date.now()).find(1)!;
    const run = { ...job.run!, last_contact_at: new Date(Date.now() - 120_000).toISOString() };
    const page = (state: Job['state']) => <JobContext value={{ ...job, run: { ...run, state } }}><RunOutOfReach /></JobContext>;
    const { rerender } = render(page('RUNNING'));
    expect(screen.queryByRole('status')).toBeNull();
    rerender(page('RECONCILING'));
    expect(screen.getByText(/was last heard (2 min|1 min 59 s) ago/)).toBeVisible();
    expect(screen.getByRole('status')).not.toHaveTextContent(/last heard/);
  });

  it('shows what somebody else has compared', async () => {
    const { user } = await renderJob(1, '/versions?compare=1..2');
    await user.click(within(await screen.findByRole('region', { name: 'From version 1 to version 2' })).getByRole('button', { name: 'Close' }));
    expect(globalThis.location.search).toBe('');
    expect(screen.queryByRole('region', { name: /^From version/ })).toBeNull();
  });

  it.each(['/nonsense', '/versions/99'])('says that nothing is at %s, and leads back', async (path) => {
    const { user } = await renderJob(1, path);
    expect(await screen.findByText('There is no such page of this job')).toBeVisible();
    expect(globalThis.location.pathname).toBe(`/jobs/1${path}`);
    await user.click(screen.getByRole('link', { name: 'Overview' }));
    expect(screen.getByRole('tab', { name: 'Overview', selected: true })).toBeVisible();
  });

  it('says what the backend says of a job that is not there', async () => {
    await renderPage('/jobs/999');
    expect(await screen.findByText('There is no job 999.')).toBeVisible();
    expect(screen.getByText(/Request 4f1c0a77/)).toBeVisible();
  });

  it('shows what differs between two versions', async () => {
    const { user } = await renderJob(1, '/versions');
    await user.click(await screen.findByRole('button', { name: 'with version 1' }));
    const section = await screen.findByRole('region', { name: 'From version 1 to version 2' });
    expect(globalThis.location.search).toBe('?compare=1..2');
    expect(await within(section).findByText('checkpointing.interval')).toBeVisible();
    expect(within(section).getByText(/delay > 10/)).toBeVisible();
    await user.click(within(section).getByRole('button', { name: 'Close' }));
    expect(section).not.toBeInTheDocument();
    expect(screen.getByRole('button', { name: 'with version 1' })).toHaveFocus();
  });
});
