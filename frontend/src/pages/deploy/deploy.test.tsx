import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../api/types';
import { addVersion } from '../../fake/deploying';
import { World } from '../../fake/world';
import { renderPage } from '../../testing/render';

const file = (text: string, name = 'route_delays.py'): File => new File([text], name, { type: 'text/x-python' });
const bodyOf = async (asked: Request[], path: string): Promise<unknown> => asked.filter(({ url, method }) => method === 'POST' && new URL(url).pathname === path).at(-1)!.clone().json();

describe('deploying', () => {
  it('uploads a file, shows what compiling it has found and its graph, and starts it', async () => {
    const { fake, user } = await renderPage('/jobs', { as: 'operator' });
    await user.click(await screen.findByRole('link', { name: 'Deploy…' }));
    await user.upload(await screen.findByLabelText('File of the job'), file('def job(): ...'));
    expect(screen.getByRole('textbox', { name: 'Name of the job' })).toHaveValue('route-delays');
    await user.clear(screen.getByRole('textbox', { name: 'Parallelism' }));
    await user.type(screen.getByRole('textbox', { name: 'Parallelism' }), '4');
    await user.clear(screen.getByRole('textbox', { name: 'Checkpoint timeout' }));
    await user.type(screen.getByRole('textbox', { name: 'Checkpoint timeout' }), '90s');
    await user.clear(screen.getByRole('textbox', { name: 'Tolerable failed checkpoints' }));
    await user.click(screen.getByRole('button', { name: 'Add one' }));
    await user.type(screen.getByRole('textbox', { name: 'Name' }), 'window');
    await user.type(screen.getByRole('textbox', { name: 'Value' }), '5');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));

    expect(await screen.findByText(/A worker loads the code/)).toBeVisible();
    expect(await bodyOf(fake.asked, '/api/v1/jobs')).toMatchObject({
      name: 'route-delays', start: false,
      spec: { parallelism: 4, parameters: { window: 5 }, checkpointing: { timeout: '90s', min_pause: '0s', tolerable_failed_checkpoints: null } },
    });
    fake.world.advance(fake.world.nowMs + 3_000);
    expect(await screen.findByRole('img', { name: /^4 operators: events \(source/ })).toBeVisible();
    expect(screen.getByText(/^90s: one that takes longer has failed/)).toBeVisible();
    expect(screen.getByText('any number')).toBeVisible();
    await user.click(await screen.findByRole('button', { name: 'Start it' }));
    expect(await screen.findByRole('tab', { name: 'Overview' })).toBeVisible();
    expect(fake.world.jobs.at(-1)!.job.desired_state).toBe('RUNNING');
  });

  it('says how long compiling takes, and does not tell it each second', async () => {
    const world = new World(Date.now());
    const [spec] = world.find(7)!.specs;
    Object.assign(spec!, { state: 'COMPILING', created_at: new Date(Date.now() - 30_000).toISOString() });
    await renderPage(`/jobs/7/review/${spec!.number}`, { world });
    expect(await screen.findByText(/^For [23]\d(\.\d)? s so far\.$/)).toBeVisible();
    expect(screen.getByText(/A worker loads the code/).closest('[role=status]')).toHaveTextContent(/^A worker loads .* to find its graph\.$/);
  });

  it('says why a file does not compile, and has it changed without typing all of it again', async () => {
    const { fake, user } = await renderPage('/jobs/deploy', { as: 'operator' });
    await user.upload(await screen.findByLabelText('File of the job'), file('raise ValueError'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker loads the code/);
    fake.world.advance(fake.world.nowMs + 3_000);
    expect(await screen.findByText(/the column speed is not there/)).toBeVisible();

    await user.click(screen.getByRole('link', { name: 'Change it' }));
    expect(await screen.findByRole('textbox', { name: 'Name of the job' })).toHaveValue('route-delays');
    await user.upload(screen.getByLabelText('File of the job'), file('def job(): ...'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker loads the code/);
    fake.world.advance(fake.world.nowMs + 3_000);
    expect(await screen.findByRole('button', { name: 'Start it' })).toBeVisible();
    expect(fake.world.jobs.filter(({ job }) => job.name === 'route-delays')).toHaveLength(1);
  });

  it('sends what was to take the place of a job again, when it was refused and that job is gone already', async () => {
    const { fake, user } = await renderPage('/jobs/deploy', { as: 'operator' });
    await user.upload(await screen.findByLabelText('File of the job'), file('raise ValueError'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker loads the code/);
    fake.world.advance(fake.world.nowMs + 3_000);
    await user.click(await screen.findByRole('link', { name: 'Change it' }));
    const name = await screen.findByRole('textbox', { name: 'Name of the job' });
    await user.upload(screen.getByLabelText('File of the job'), file('def job(): ...'));
    await user.clear(name);
    await user.type(name, 'clicks-sessions');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/There is a job 'clicks-sessions' already/);
    expect(fake.world.jobs.some(({ job }) => job.name === 'route-delays')).toBe(false);
    await user.clear(name);
    await user.type(name, 'route-delays');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/A worker loads the code/)).toBeVisible();
    expect(fake.world.jobs.filter(({ job }) => job.name === 'route-delays')).toHaveLength(1);
  });

  it('says what the API refuses, and keeps what was typed', async () => {
    const { user } = await renderPage('/jobs/deploy', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Upload and compile' }));
    expect(screen.getByText('Choose a file: a .py, .zip or .whl')).toBeVisible();
    await user.upload(screen.getByLabelText('File of the job'), file('def job(): ...', 'clicks_sessions.py'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/There is a job 'clicks-sessions' already/)).toBeVisible();
    const name = screen.getByRole('textbox', { name: 'Name of the job' });
    expect(name).toHaveValue('clicks-sessions');
    expect(name).toHaveAccessibleDescription('A job of this name exists already');
    await user.type(name, '-2');
    expect(name).toBeValid();
  });

  it('makes another version of a job, and upgrades to it by a plan', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version', { as: 'operator' });
    const parallelism = await screen.findByRole('textbox', { name: 'Parallelism' });
    await user.clear(parallelism);
    await user.type(parallelism, '6');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker loads the code/);
    const sent = (await bodyOf(fake.asked, '/api/v1/jobs/3/specs')) as { spec: { artifact: string } };
    expect(sent.spec).toMatchObject({ parallelism: 6, artifact: fake.world.find(3)!.specs.at(-1)!.body.artifact as string });
    fake.world.advance(fake.world.nowMs + 3_000);
    const compare = await screen.findByRole('button', { name: 'What differs' });
    await user.click(compare);
    expect(compare).toHaveFocus();
    await user.click(within(await screen.findByRole('region', { name: 'From version 2 to version 3' })).getByRole('button', { name: 'Close' }));
    expect(compare).toHaveFocus();
    await user.click(screen.getByRole('radio', { name: /Stop at once/ }));
    await user.click(screen.getByRole('button', { name: 'See what the upgrade would do' }));
    expect(await screen.findByRole('heading', { name: /Upgrade to version 3/ })).toBeVisible();
    const [plan] = fake.world.find(3)!.plans;
    expect(plan!.request).toMatchObject({ kind: 'upgrade', spec: 3, mode: 'last-state' });
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(within(await screen.findByRole('region', { name: /Upgrade to version 3/ })).getByText(/stopped at once/)).toBeVisible();
  });

  it('sends another version of a job that was started or stopped meanwhile', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version', { as: 'operator' });
    await screen.findByRole('textbox', { name: 'Parallelism' });
    fake.world.find(3)!.job.version += 2;
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/A worker loads the code/)).toBeVisible();
    expect(fake.world.find(3)!.specs).toHaveLength(3);
  });

  it('tells of a version that somebody else has made meanwhile, and is sent after it if that is wanted', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version', { as: 'operator' });
    const parallelism = await screen.findByRole('textbox', { name: 'Parallelism' });
    await user.clear(parallelism);
    await user.type(parallelism, '6');
    const one = fake.world.find(3)!;
    addVersion(fake.world, one, { spec: one.specs[0]!.body as Schemas['SpecBody'], comment: '' });
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/Version 3 was made meanwhile/)).toBeVisible();
    expect(one.specs).toHaveLength(3);
    expect(parallelism).toHaveValue('6');
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    expect(await screen.findByText(/A worker loads the code/)).toBeVisible();
    expect(one.specs[0]).toMatchObject({ number: 4, body: { parallelism: 6 } });
  });

  it('upgrades without any state to what could not go on with it', async () => {
    const { fake, user } = await renderPage('/jobs/3/new-version');
    await user.upload(await screen.findByLabelText('File of the job'), file('rekeyed'));
    await user.click(screen.getByRole('button', { name: 'Upload and compile' }));
    await screen.findByText(/A worker loads the code/);
    fake.world.advance(fake.world.nowMs + 3_000);
    await user.click(await screen.findByRole('button', { name: 'See what the upgrade would do' }));
    expect(await screen.findByText(/finds out whether the state of the job fits/)).toBeVisible();
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(await screen.findByText(/keyed by account, its state by user/)).toBeVisible();
    expect(screen.getByRole('button', { name: 'Upgrade' })).toBeDisabled();

    globalThis.history.back();
    await user.click(await screen.findByRole('radio', { name: /without any state/ }));
    await user.click(screen.getByRole('button', { name: 'See what the upgrade would do' }));
    expect(await screen.findByRole('heading', { name: /Upgrade to version 3, without any state/ })).toBeVisible();
    fake.world.advance(fake.world.nowMs + 2_000);
    expect(await screen.findByRole('textbox', { name: 'Type clicks-sessions to confirm' })).toBeVisible();
    expect(fake.world.find(3)!.plans[0]!.request).toMatchObject({ kind: 'upgrade', spec: 3, mode: 'stateless' });
  });

  it('is not for who may only look', async () => {
    await renderPage('/jobs/deploy', { as: 'viewer' });
    expect(await screen.findByText('You may not deploy jobs')).toBeVisible();
  });
});
