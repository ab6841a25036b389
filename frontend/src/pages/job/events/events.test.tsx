import { screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';

import { EVENTS_MAX } from '../../../live/jobLive';
import { renderJob } from '../../../testing/render';

it('the log grows by itself, and has only the kinds that are chosen', async () => {
  const { fake, user } = await renderJob(1, '/events');
  const table = await screen.findByRole('table');
  // By its number in the job, not by its id, which counts through all jobs.
  const { run } = fake.world.find(1)!.job;
  expect(run!.id).not.toBe(run!.number);
  expect((await within(table).findAllByRole('cell', { name: `run ${run!.number}` })).length).toBeGreaterThan(0);
  const before = within(table).getAllByRole('row').length;
  fake.world.tell(fake.world.find(1)!, 'FailureOccurred', { generation: 1, reason: 'slot 2 was lost' });
  expect(await within(table).findByText(/slot 2 was lost/)).toBeVisible();
  expect(within(table).getAllByRole('row')).toHaveLength(before + 1);

  await user.type(screen.getByLabelText('Kinds'), 'PlanFailed{Enter}');
  expect(await screen.findByText('Nothing of these kinds has happened')).toBeVisible();
  fake.world.tell(fake.world.find(1)!, 'PlanFailed', { plan: 3, reason: 'it is damaged' }, false);
  fake.world.tell(fake.world.find(1)!, 'CheckpointFailed', { checkpoint: 3, reason: 'of another kind' });
  expect(await screen.findByText('PlanFailed', { selector: 'code' })).toBeVisible();
  expect(screen.queryByText(/of another kind/)).toBeNull();
  expect(screen.getAllByRole('row')).toHaveLength(2);
  expect(globalThis.location.search).toBe('?kind=PlanFailed');
});

it('the log has the kinds that are in the address', async () => {
  await renderJob(1, '/events?kind=PlanFailed&kind=PlanWithdrawn');
  expect(await screen.findByText('Nothing of these kinds has happened')).toBeVisible();
  for (const name of ['PlanFailed', 'PlanWithdrawn']) expect(screen.getByRole('button', { name })).toBeVisible();
});

it('is asked for again before the stream forgets what the list does not have', async () => {
  const { fake } = await renderJob(1, '/events');
  const table = await screen.findByRole('table');
  const rows = (): number => within(table).getAllByRole('row').length;
  await vi.waitFor(() => expect(rows()).toBeGreaterThan(1));
  for (let told = 0; told < EVENTS_MAX / 2; told += 1) fake.world.tell(fake.world.find(1)!, 'FailureOccurred', { generation: 1, reason: `slot ${told} was lost` });
  expect(await within(table).findByText(`slot ${EVENTS_MAX / 2 - 1} was lost`, { exact: false })).toBeVisible();
  // The page has as many as it has, once it was asked for again: not those that were told since it was asked for first.
  await vi.waitFor(() => expect(rows()).toBeLessThan(EVENTS_MAX / 4), { timeout: 10_000 });
});
