import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { bytes, NO_VALUE } from '../../../format';
import { Installation } from '../../../fake/installation';
import { pinOf } from '../../../fake/model';
import { renderJob } from '../../../testing/render';

const CLICKS = 3;
const ADS = 7;
const history = (): Promise<HTMLElement> => screen.findByRole('region', { name: 'History' });

/** Expand the row of a checkpoint. */
async function open(number: number, user: Awaited<ReturnType<typeof renderJob>>['user']): Promise<HTMLElement> {
  await user.click(await within(await history()).findByText(String(number)));
  return screen.findByRole('region', { name: `Checkpoint ${number}` });
}
const paths = (fake: Awaited<ReturnType<typeof renderJob>>['fake'], method: string): string[] =>
  fake.requests.filter((one) => one.method === method).map(({ url }) => new URL(url).pathname);

/** Create an installation, and set the field `start` of the newest run of its first job. */
function withStart(start: Record<string, unknown>): Installation {
  const world = new Installation(Date.now());
  world.find(1)!.runs[0]!.start = start;
  return world;
}

describe('the checkpoints tab', () => {
  it('shows a summary, statistics, charts and the configuration', async () => {
    await renderJob(CLICKS, '/checkpoints');
    const summary = await screen.findByRole('region', { name: /^Statistics of the last \d+ completed$/ });
    expect(within(summary).getByRole('row', { name: /^Alignment, slowest subtask \d/ })).toBeVisible();
    const trends = await screen.findByRole('region', { name: 'Trends' });
    expect(await within(trends).findByRole('img', { name: /^Duration: end to end last .*, maximum .*$/ })).toBeVisible();
    const configuration = within(await screen.findByRole('region', { name: 'Configuration of version 2' }));
    expect(configuration.getByText('10s')).toBeVisible();
    expect(configuration.getByText(/^5s between the end/)).toBeVisible();
  });

  it('shows the last restore and its run', async () => {
    const { fake } = await renderJob(1, '/checkpoints');
    const overview = within(await screen.findByRole('region', { name: 'Latest checkpoints' }));
    const valueOf = async (name: string): Promise<Element> => (await overview.findByText(name)).nextElementSibling!;
    expect(await valueOf('Last restore')).toHaveTextContent(/^No\. 46, \d+ min ago, by run 4 \(undo\)$/);
    expect(await valueOf('Last completed')).toHaveTextContent(/^No\. 60, .* ago, in \d.* s, [\d.]+ [kM]B$/);

    fake.installation.startFrom(fake.installation.find(1)!, 'rollback', { mode: 'from', checkpoint: 50 });
    await waitFor(async () => expect(await valueOf('Last restore')).toHaveTextContent(/^No\. 50 \(savepoint\), .*, by run 5 \(rollback\)$/), { timeout: 3_000 });
    fake.installation.startFrom(fake.installation.find(1)!, 'restore', { mode: 'path', path: '/srv/other#12' });
    await waitFor(async () => expect(await valueOf('Last restore')).toHaveTextContent(/^No\. 12 in \/srv\/other, .*, by run 6 \(restore\)$/), { timeout: 3_000 });
  });

  it('shows no last restore if the job started without state', async () => {
    await renderJob(1, '/checkpoints', { installation: withStart({ mode: 'from', checkpoint: 0 }) });
    const overview = within(await screen.findByRole('region', { name: 'Latest checkpoints' }));
    expect((await overview.findByText('Last restore')).nextElementSibling).toHaveTextContent(NO_VALUE);
  });

  it('shows the durations of subtasks, slowest first', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints');
    const { number } = fake.installation.find(CLICKS)!.job.last_checkpoint!;
    const detail = await open(number, user);
    const timeline = await within(detail).findByRole('region', { name: 'Timeline' });
    const took = within(timeline).getAllByRole('row').slice(1).map((row) => within(row).getAllByRole('cell')[0]!.textContent);
    const { body: taken, snapshots } = fake.installation.find(CLICKS)!.checkpoints.find(({ body }) => body.number === number)!;
    expect(within(detail).getByText('Data written').nextElementSibling).toHaveTextContent(bytes(taken.checkpointed_bytes));
    expect(within(detail).getByText('Path').nextElementSibling).toHaveTextContent(`checkpoints/${number}/manifest-g`);
    const slowest = snapshots.at(-1)!;
    expect(took[0]).toContain(`[${slowest.index}]`);
    expect(within(timeline).getAllByRole('img', { name: /sync .*async/ })).toHaveLength(snapshots.length);

    const operators = within(detail).getByRole('region', { name: 'Operators' });
    expect(within(operators).getByRole('columnheader', { name: 'Operator' })).toBeVisible();
    expect(within(operators).getAllByText('2 of 2')).toHaveLength(2);
    await user.click(within(operators).getByRole('button', { name: 'Subtasks of events → clean' }));
    expect(within(operators).getByText('subtask 1')).toBeVisible();
  });

  it('proposes a rollback to the selected checkpoint', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints');
    const { number } = fake.installation.find(CLICKS)!.job.last_checkpoint!;
    const detail = await open(number, user);
    await user.click(within(detail).getByRole('button', { name: `Roll back to checkpoint ${number}…` }));
    expect(await screen.findByText(/A worker is verifying the files/)).toBeVisible();
    expect(paths(fake, 'POST')).toContain(`/api/v1/jobs/${CLICKS}/plans`);
  });

  it('shows each new acknowledgement of a checkpoint in progress', async () => {
    const { user, fake } = await renderJob(1, '/checkpoints');
    fake.installation.advance(fake.installation.nowMs + 7_000);
    const row = (await within(await history()).findByText('in progress')).closest('tr')!;
    await user.click(within(row).getByText('in progress'));
    const detail = await screen.findByRole('region', { name: /^Checkpoint \d+$/ });
    const timeline = await within(detail).findByRole('region', { name: 'Timeline' });
    expect(await within(timeline).findByText(/^not acknowledged by 24 of 24 subtasks after \d/)).toBeVisible();
    expect(within(timeline).getAllByRole('img', { name: 'not acknowledged' })).toHaveLength(10);
    const operators = within(detail).getByRole('region', { name: 'Operators' });
    expect((await within(operators).findAllByText('0 of 4')).length).toBeGreaterThan(0);
    fake.installation.advance(fake.installation.nowMs + 1_500);
    expect((await within(operators).findAllByText(/^[1-4] of 4$/)).length).toBeGreaterThan(0);
    expect(within(timeline).queryByText('straggler')).toBeNull();
  });

  it('the timeline of a failed checkpoint starts with the subtasks that have not acknowledged, and marks no stragglers', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints');
    const { body, snapshots } = fake.installation.find(CLICKS)!.checkpoints.find(({ body: { state } }) => state === 'FAILED')!;
    await user.click(await within(await history()).findByRole('button', { name: 'Failed' }));
    const timeline = await within(await open(body.number, user)).findByRole('region', { name: 'Timeline' });
    const unacknowledged = snapshots.at(-1)!;
    expect(await within(timeline).findByText(/^not acknowledged by 1 of \d+ subtasks when the checkpoint failed, after \d/)).toBeVisible();
    const [first, second] = within(timeline).getAllByRole('row').slice(1);
    expect(within(first!).getByText('not acknowledged')).toBeVisible();
    expect(within(first!).getAllByRole('cell')[0]).toHaveTextContent(`[${unacknowledged.index}]`);
    expect(within(second!).queryByText('not acknowledged')).toBeNull();
    expect(within(timeline).queryByText(/straggler/)).toBeNull();
  });

  it('keeps rows in place while a row is expanded and new checkpoints complete', async () => {
    const { user, fake } = await renderJob(1, '/checkpoints');
    const { number } = fake.installation.find(1)!.job.last_checkpoint!;
    const detail = await open(number, user);
    const newest = (): number => fake.installation.find(1)!.job.last_checkpoint!.number;
    while (newest() < number + 15) fake.installation.advance(fake.installation.nowMs + 1_000);
    const show = await within(await history()).findByRole('button', { name: /^Show 1\d newer$/ });
    expect(detail).toBeVisible();
    expect(within(await history()).queryByRole('button', { name: `${newest()} checkpoint details` })).toBeNull();

    await user.click(show);
    expect(await within(await history()).findByRole('button', { name: `${newest()} checkpoint details` })).toBeVisible();
    expect(screen.queryByRole('region', { name: /^Checkpoint \d+$/ })).toBeNull();
    expect(within(await history()).queryByRole('button', { name: /^Show/ })).toBeNull();
    expect(screen.getByRole('heading', { name: 'History' })).toHaveFocus();
  });

  it('filters checkpoints by kind, and shows an empty state if no checkpoint matches', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints');
    const all = fake.installation.find(CLICKS)!.checkpoints.map(({ body }) => body);
    const list = within(await history());
    const only = async (name: string): Promise<void> => user.click(await list.findByRole('button', { name }));
    const numbers = async (): Promise<number[]> => (await list.findAllByRole('button', { name: /checkpoint details$/ })).map((one) => parseInt(one.textContent, 10));
    await only('Failed');
    expect(await list.findByText('1–3 of 3')).toBeVisible();
    expect(await numbers()).toEqual(all.filter(({ state }) => state === 'FAILED').map(({ number }) => number));
    expect(list.getByRole('button', { name: 'Failed' })).toHaveAttribute('aria-pressed', 'true');
    await only('Failed');
    await only('Savepoints');
    expect(await list.findByText('1–2 of 2')).toBeVisible();
    expect(await numbers()).toEqual(all.filter(({ is_savepoint }) => is_savepoint).map(({ number }) => number));
    await only('Pinned');
    expect(await list.findByText('No matching checkpoints')).toBeVisible();
  });

  it('sorts checkpoints by size, with unknown sizes last', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints');
    await user.click(await within(await history()).findByRole('button', { name: 'Sort by state size descending' }));
    await within(await history()).findByRole('button', { name: 'Sort by state size ascending' });
    const largest = Math.max(...fake.installation.find(CLICKS)!.checkpoints.map(({ body }) => body.state_bytes ?? 0));
    const [, first] = within(await history()).getAllByRole('row');
    expect(await within(first!).findByText(bytes(largest))).toBeVisible();
  });

  it('pins a checkpoint with a single request that contains the reason and the displayed version', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints', { as: 'operator' });
    const one = fake.installation.find(CLICKS)!;
    const { number } = one.job.last_checkpoint!;
    const detail = await open(number, user);
    await user.click(within(detail).getByRole('button', { name: 'Pin' }));
    const dialog = await screen.findByRole('dialog');
    await user.type(within(dialog).getByRole('textbox'), 'before the release');
    await user.click(within(dialog).getByRole('button', { name: 'Pin checkpoint' }));
    expect(await within(detail).findByText(/before the release/)).toBeVisible();
    const asked = fake.requests.find(({ method }) => method === 'PATCH')!;
    expect(asked.headers.get('If-Match')).toBe('"1"');
    expect(await asked.json()).toEqual({ pinned: true, reason: 'before the release' });

    await user.click(await within(detail).findByRole('button', { name: 'Unpin' }));
    expect(await within(detail).findByRole('button', { name: 'Pin' })).toBeVisible();
    expect(one.checkpoints.find(({ body }) => body.number === number)!.body.pinned).toBe(false);
  });

  it('shows who has pinned a checkpoint, and releases only the pin of the user', async () => {
    const installation = new Installation(Date.now());
    const one = installation.find(CLICKS)!;
    const { body } = one.checkpoints.find((checkpoint) => checkpoint.body.number === one.job.last_checkpoint!.number)!;
    Object.assign(body, { pins: [pinOf('mira.holt', 'before the release', installation.nowMs)], pinned: true, pin_in_force: true });
    const { user } = await renderJob(CLICKS, '/checkpoints', { as: 'operator', installation });
    const detail = await open(body.number, user);
    expect(within(detail).getByText('mira.holt (before the release)')).toBeVisible();
    await user.click(within(detail).getByRole('button', { name: 'Pin' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Pin checkpoint' }));
    expect(await within(detail).findByText('mira.holt (before the release), operator')).toBeVisible();
    await user.click(await within(detail).findByRole('button', { name: 'Unpin' }));
    expect(await within(detail).findByText('mira.holt (before the release)')).toBeVisible();
  });

  it('shows why a checkpoint cannot be deleted, and sends no request', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints', { as: 'operator' });
    const detail = await open(fake.installation.find(CLICKS)!.job.last_checkpoint!.number, user);
    const button = within(detail).getByRole('button', { name: 'Delete' });
    expect(button).toHaveAccessibleDescription(/is still running\. Suspend the job first/);
    await user.click(button);
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(paths(fake, 'DELETE')).toEqual([]);
  });

  it('verifies a checkpoint of a stopped job, and deletes it after a confirmation', async () => {
    const { user, fake } = await renderJob(ADS, '/checkpoints', { as: 'operator' });
    const one = fake.installation.find(ADS)!;
    const number = one.job.last_checkpoint!.number - 1;
    const detail = await open(number, user);
    await user.click(within(detail).getByRole('button', { name: 'Verify' }));
    expect(await within(detail).findByText('Verified')).toBeVisible();
    await user.click(within(detail).getByRole('button', { name: 'Delete' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await within(await history()).findByText('files deleted')).toBeVisible();
    expect(await within(detail).findByText('Former path')).toBeVisible();
    expect(within(detail).getByText('Files deleted').nextElementSibling).toHaveTextContent(/^\d{4}-/);
    expect(paths(fake, 'DELETE')).toEqual([`/api/v1/jobs/${ADS}/checkpoints/${number}`]);
    expect(paths(fake, 'POST')).toEqual([`/api/v1/jobs/${ADS}/checkpoints/${number}/verify`]);
  });

  it.each([
    ['Trigger checkpoint', 'checkpoints', 'manual', false],
    ['Trigger savepoint', 'savepoints', 'savepoint', true],
  ])('takes a checkpoint or savepoint on request: %s', async (name, path, trigger, kept) => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints', { as: 'operator' });
    const before = fake.installation.find(CLICKS)!.checkpoints[0]!.body.number;
    await user.click(within(await screen.findByRole('region', { name: 'Latest checkpoints' })).getByRole('button', { name }));
    expect(await within(await history()).findByText(String(before + 1))).toBeVisible();
    expect(paths(fake, 'POST')).toEqual([`/api/v1/jobs/${CLICKS}/${path}`]);
    expect(fake.installation.find(CLICKS)!.checkpoints[0]!.body).toMatchObject({ number: before + 1, trigger, is_savepoint: kept, state: 'IN_PROGRESS' });
  });

  it.each(['Trigger checkpoint', 'Trigger savepoint'])('disables the buttons that trigger checkpoints of a stopped job: %s', async (name) => {
    const { user, fake } = await renderJob(ADS, '/checkpoints', { as: 'operator' });
    const button = within(await screen.findByRole('region', { name: 'Latest checkpoints' })).getByRole('button', { name });
    expect(button).toHaveAccessibleDescription(/is not running\. Start the job first\.$/);
    await user.click(button);
    expect(paths(fake, 'POST')).toEqual([]);
  });

  it('shows no actions to viewers', async () => {
    const { user, fake } = await renderJob(CLICKS, '/checkpoints', { as: 'viewer' });
    const detail = await open(fake.installation.find(CLICKS)!.job.last_checkpoint!.number, user);
    for (const name of [/^Roll back/, 'Pin', 'Verify', 'Delete', 'Trigger savepoint']) expect(within(detail).queryByRole('button', { name })).toBeNull();
    for (const name of ['Trigger checkpoint', 'Trigger savepoint']) expect(screen.queryByRole('button', { name })).toBeNull();
  });

  it('shows empty states before the first checkpoint', async () => {
    await renderJob(9, '/checkpoints', { installation: new Installation(Date.now()) });
    expect(await screen.findByText('No checkpoints yet')).toBeVisible();
    expect(await screen.findByText('No trends yet')).toBeVisible();
  });
});
