import { screen, within } from '@testing-library/react';
import { expect, it, vi } from 'vitest';

import { EVENTS_MAX } from '../../../live/jobLive';
import { Installation } from '../../../fake/installation';
import { renderJob } from '../../../testing/render';

it('the event log shows new events live and applies the filter to them', async () => {
  const { fake, user } = await renderJob(1, '/events');
  const table = await screen.findByRole('table');
  // Run ids are unique across jobs. The table shows the number of the run within its job instead of the run id.
  const { run } = fake.installation.find(1)!.job;
  expect(run!.id).not.toBe(run!.number);
  expect((await within(table).findAllByRole('cell', { name: `run ${run!.number}` })).length).toBeGreaterThan(0);
  const before = within(table).getAllByRole('row').length;
  fake.installation.emit(fake.installation.find(1)!, 'FailureOccurred', { generation: 1, reason: 'slot 2 was lost' });
  expect(await within(table).findByText(/slot 2 was lost/)).toBeVisible();
  expect(within(table).getAllByRole('row')).toHaveLength(before + 1);

  await user.type(screen.getByLabelText('Kinds'), 'PlanFailed{Enter}');
  expect(await screen.findByText('No matching events')).toBeVisible();
  fake.installation.emit(fake.installation.find(1)!, 'PlanFailed', { plan: 3, reason: 'it is damaged' }, false);
  fake.installation.emit(fake.installation.find(1)!, 'CheckpointFailed', { checkpoint: 3, reason: 'of another kind' });
  expect(await screen.findByText('PlanFailed', { selector: 'code' })).toBeVisible();
  expect(screen.queryByText(/of another kind/)).toBeNull();
  expect(screen.getAllByRole('row')).toHaveLength(2);
  expect(globalThis.location.search).toBe('?kind=PlanFailed');
});

it('the event log hides routine checkpoints unless the user shows them', async () => {
  const installation = new Installation(Date.now());
  const one = installation.find(1)!;
  const complete = (checkpoint: number): void => {
    installation.emit(one, 'CheckpointTriggered', { checkpoint, generation: 1, trigger: 'periodic', subtasks: 4 });
    installation.emit(one, 'CheckpointCompleted', { checkpoint, generation: 1, trigger: 'periodic', end_to_end_ms: 40, state_bytes: 9 });
  };
  installation.emit(one, 'CheckpointFailed', { checkpoint: 900, reason: 'declined' });
  for (let checkpoint = 901; checkpoint <= 909; checkpoint += 1) complete(checkpoint);
  const { fake, user } = await renderJob(1, '/events', { installation });
  const rowOf = (checkpoint: number): HTMLElement | null => screen.queryByRole('cell', { name: `checkpoint ${checkpoint} in 40 ms, 9 B` });
  expect(await screen.findByRole('cell', { name: 'checkpoint 900: declined' })).toBeVisible();
  for (const [checkpoint, shown] of [[901, true], [902, false], [908, false], [909, true]] as const) expect(rowOf(checkpoint) !== null).toBe(shown);
  complete(910);
  await vi.waitFor(() => expect(rowOf(910)).toBeVisible());
  expect(rowOf(909)).toBeNull();
  const listed = fake.requests.filter(({ url }) => new URL(url).pathname === '/api/v1/events');
  expect(JSON.parse(new URL(listed[0]!.url).searchParams.get('filter')!)).toEqual({ job_id: 1, routine: false });

  const toggle = screen.getByRole('switch', { name: 'Show routine checkpoints' });
  expect(toggle).not.toBeChecked();
  await user.click(toggle);
  await vi.waitFor(() => expect(rowOf(905)).toBeVisible());
  expect(rowOf(909)).toBeVisible();
  expect(globalThis.location.search).toBe('?routine=true');
  expect(toggle).toBeChecked();
});

it('a link can show routine checkpoints, and a filter by kind shows all events of this kind', async () => {
  const { user } = await renderJob(1, '/events?routine=true');
  const toggle = screen.getByRole('switch', { name: 'Show routine checkpoints' });
  expect(toggle).toBeChecked();
  await user.click(toggle);
  expect(globalThis.location.search).toBe('');
  await user.type(screen.getByLabelText('Kinds'), 'CheckpointCompleted{Enter}');
  expect(toggle).toBeChecked();
  expect(toggle).toBeDisabled();
});

it('the filter of the event log is stored in the URL', async () => {
  await renderJob(1, '/events?kind=PlanFailed&kind=PlanDiscarded');
  expect(await screen.findByText('No matching events')).toBeVisible();
  for (const name of ['PlanFailed', 'PlanDiscarded']) expect(screen.getByRole('button', { name })).toBeVisible();
});

it('the page refetches the event log after many streamed events', async () => {
  const { fake } = await renderJob(1, '/events');
  const table = await screen.findByRole('table');
  const rows = (): number => within(table).getAllByRole('row').length;
  await vi.waitFor(() => expect(rows()).toBeGreaterThan(1));
  for (let streamed = 0; streamed < EVENTS_MAX / 2; streamed += 1) fake.installation.emit(fake.installation.find(1)!, 'FailureOccurred', { generation: 1, reason: `slot ${streamed} was lost` });
  expect(await within(table).findByText(`slot ${EVENTS_MAX / 2 - 1} was lost`, { exact: false })).toBeVisible();
  // After the refetch, the list shows only the fetched page and newer events.
  await vi.waitFor(() => expect(rows()).toBeLessThan(EVENTS_MAX / 4), { timeout: 10_000 });
});
