import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/types';
import { addVersion } from '../../fake/specs';
import { Installation } from '../../fake/installation';
import { renderPage } from '../../testing/render';

const file = (text: string, name = 'route_delays.py'): File => new File([text], name, { type: 'text/x-python' });
const bodyOf = async (requests: Request[], path: string): Promise<unknown> => requests.filter(({ url, method }) => method === 'POST' && new URL(url).pathname === path).at(-1)!.clone().json();

describe('deploying', () => {
  it('uploads a file, shows its graph, and starts the job', async () => {
    const { fake, user } = await renderPage('/jobs', { as: 'operator' });
    await user.click(await screen.findByRole('link', { name: 'Deploy job' }));
    await user.upload(await screen.findByLabelText('Job file'), file('def job(): ...'));
    expect(screen.getByRole('textbox', { name: 'Job name' })).toHaveValue('route-delays');
    await user.clear(screen.getByRole('textbox', { name: 'Parallelism' }));
    await user.type(screen.getByRole('textbox', { name: 'Parallelism' }), '4');
    await user.clear(screen.getByRole('textbox', { name: 'Checkpoint timeout' }));
    await user.type(screen.getByRole('textbox', { name: 'Checkpoint timeout' }), '90s');
    await user.clear(screen.getByRole('textbox', { name: 'Tolerable failed checkpoints' }));
    await user.click(screen.getByRole('button', { name: 'Add parameter' }));
    await user.type(screen.getByRole('textbox', { name: 'Name' }), 'window');
    await user.type(screen.getByRole('textbox', { name: 'Value' }), '5');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));

    expect(await screen.findByText(/A worker is compiling the code/)).toBeVisible();
    expect(await bodyOf(fake.requests, '/api/v1/jobs')).toMatchObject({
      name: 'route-delays', start: false,
      spec: { parallelism: 4, parameters: { window: 5 }, checkpointing: { timeout: '90s', min_pause: '0s', tolerable_failed_checkpoints: null } },
    });
    fake.installation.advance(fake.installation.nowMs + 3_000);
    expect(await screen.findByRole('img', { name: /^4 operators: events \(source/ })).toBeVisible();
    expect(screen.getByText(/^90s \(a checkpoint that takes longer fails\)/)).toBeVisible();
    expect(screen.getByText('unlimited')).toBeVisible();
    await user.click(await screen.findByRole('button', { name: 'Start job' }));
    expect(await screen.findByRole('tab', { name: 'Overview' })).toBeVisible();
    expect(fake.installation.jobs.at(-1)!.job.desired_state).toBe('RUNNING');
  });

  it('shows the elapsed time of the compilation without announcing it every second', async () => {
    const installation = new Installation(Date.now());
    const [spec] = installation.find(7)!.specs;
    Object.assign(spec!, { state: 'COMPILING', created_at: new Date(Date.now() - 30_000).toISOString() });
    await renderPage(`/jobs/7/review/${spec!.number}`, { installation });
    expect(await screen.findByText(/^Running for [23]\d(\.\d)? s\.$/)).toBeVisible();
    expect(screen.getByText(/A worker is compiling the code/).closest('[role=status]')).toHaveTextContent(/^A worker is compiling the code in a separate process\.$/);
  });

  it('shows the error of a failed compilation and keeps the form values', async () => {
    const { fake, user } = await renderPage('/jobs/deploy', { as: 'operator' });
    await user.upload(await screen.findByLabelText('Job file'), file('raise ValueError'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker is compiling the code/);
    fake.installation.advance(fake.installation.nowMs + 3_000);
    expect(await screen.findByText(/no column 'speed'/)).toBeVisible();

    await user.click(screen.getByRole('link', { name: 'Edit version' }));
    expect(await screen.findByRole('textbox', { name: 'Job name' })).toHaveValue('route-delays');
    await user.upload(screen.getByLabelText('Job file'), file('def job(): ...'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker is compiling the code/);
    fake.installation.advance(fake.installation.nowMs + 3_000);
    expect(await screen.findByRole('button', { name: 'Start job' })).toBeVisible();
    expect(fake.installation.jobs.filter(({ job }) => job.name === 'route-delays')).toHaveLength(1);
  });

  it('if the old job was deleted but its replacement was refused, the user can deploy again', async () => {
    const { fake, user } = await renderPage('/jobs/deploy', { as: 'operator' });
    await user.upload(await screen.findByLabelText('Job file'), file('raise ValueError'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker is compiling the code/);
    fake.installation.advance(fake.installation.nowMs + 3_000);
    await user.click(await screen.findByRole('link', { name: 'Edit version' }));
    const name = await screen.findByRole('textbox', { name: 'Job name' });
    await user.upload(screen.getByLabelText('Job file'), file('def job(): ...'));
    await user.clear(name);
    await user.type(name, 'clicks-sessions');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findAllByText(/A job named 'clicks-sessions' already exists/);
    expect(fake.installation.jobs.some(({ job }) => job.name === 'route-delays')).toBe(false);
    await user.clear(name);
    await user.type(name, 'route-delays');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/A worker is compiling the code/)).toBeVisible();
    expect(fake.installation.jobs.filter(({ job }) => job.name === 'route-delays')).toHaveLength(1);
  });

  it('shows the error of the API at the field and keeps the form values', async () => {
    const { user } = await renderPage('/jobs/deploy', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Upload and compile' }));
    expect(screen.getByText('Choose a .py, .zip or .whl file')).toBeVisible();
    await user.upload(screen.getByLabelText('Job file'), file('def job(): ...', 'clicks_sessions.py'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findAllByText(/A job named 'clicks-sessions' already exists/)).toHaveLength(2);
    const name = screen.getByRole('textbox', { name: 'Job name' });
    expect(name).toHaveValue('clicks-sessions');
    expect(name).toHaveAccessibleDescription(/already exists/);
    await user.type(name, '-2');
    expect(name).toBeValid();
  });

  it('creates a version and upgrades the job with a plan', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version', { as: 'operator' });
    const parallelism = await screen.findByRole('textbox', { name: 'Parallelism' });
    await user.clear(parallelism);
    await user.type(parallelism, '6');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker is compiling the code/);
    const sent = (await bodyOf(fake.requests, '/api/v1/jobs/3/specs')) as { spec: { artifact: string } };
    expect(sent.spec).toMatchObject({ parallelism: 6, artifact: fake.installation.find(3)!.specs.at(-1)!.body.artifact as string });
    fake.installation.advance(fake.installation.nowMs + 3_000);
    const compare = await screen.findByRole('button', { name: 'Compare versions' });
    await user.click(compare);
    expect(compare).toHaveFocus();
    await user.click(within(await screen.findByRole('region', { name: 'Compare version 2 with version 3' })).getByRole('button', { name: 'Close' }));
    expect(compare).toHaveFocus();
    await user.click(screen.getByRole('radio', { name: /Stop immediately/ }));
    await user.click(screen.getByRole('button', { name: 'Preview upgrade' }));
    expect(await screen.findByRole('heading', { name: /Upgrade to version 3/ })).toBeVisible();
    const [plan] = fake.installation.find(3)!.plans;
    expect(plan!.request).toMatchObject({ kind: 'upgrade', spec: 3, mode: 'last-state' });
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(within(await screen.findByRole('region', { name: /Upgrade to version 3/ })).getByText(/the job stops without a last checkpoint/)).toBeVisible();
  });

  it('submits a version even if the job was started or stopped in the meantime', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version', { as: 'operator' });
    await screen.findByRole('textbox', { name: 'Parallelism' });
    fake.installation.find(3)!.job.version += 2;
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/A worker is compiling the code/)).toBeVisible();
    expect(fake.installation.find(3)!.specs).toHaveLength(3);
  });

  it('reports a version that another user created in the meantime, and submits the form again', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version', { as: 'operator' });
    const parallelism = await screen.findByRole('textbox', { name: 'Parallelism' });
    await user.clear(parallelism);
    await user.type(parallelism, '6');
    const one = fake.installation.find(3)!;
    addVersion(fake.installation, one, { spec: one.specs[0]!.body as Schemas['JobSpec'], comment: '' });
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/Version 3 was created after you opened this form/)).toBeVisible();
    expect(one.specs).toHaveLength(3);
    expect(parallelism).toHaveValue('6');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/A worker is compiling the code/)).toBeVisible();
    expect(one.specs[0]).toMatchObject({ number: 4, body: { parallelism: 6 } });
  });

  it('a job that drops its state can be upgraded to an incompatible version', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version');
    await user.upload(await screen.findByLabelText('Job file'), file('rekeyed'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker is compiling the code/);
    fake.installation.advance(fake.installation.nowMs + 3_000);
    await user.click(await screen.findByRole('button', { name: 'Preview upgrade' }));
    expect(await screen.findByText(/checking whether the state is compatible/)).toBeVisible();
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(await screen.findByText(/keyed by \(account\), but its state in the checkpoint is keyed by \(user\)/)).toBeVisible();
    expect(screen.getByRole('button', { name: 'Upgrade' })).toBeDisabled();

    globalThis.history.back();
    await user.click(await screen.findByRole('radio', { name: /without state/ }));
    await user.click(screen.getByRole('button', { name: 'Preview upgrade' }));
    expect(await screen.findByRole('heading', { name: /Upgrade to version 3 without state/ })).toBeVisible();
    fake.installation.advance(fake.installation.nowMs + 2_000);
    expect(await screen.findByRole('textbox', { name: 'Type clicks-sessions to confirm' })).toBeVisible();
    expect(fake.installation.find(3)!.plans[0]!.request).toMatchObject({ kind: 'upgrade', spec: 3, mode: 'stateless' });
  });

  it('deploying requires the role operator', async () => {
    await renderPage('/jobs/deploy', { as: 'viewer' });
    expect(await screen.findByText('You cannot deploy jobs')).toBeVisible();
  });
});
