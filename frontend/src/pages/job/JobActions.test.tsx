import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob } from '../../testing/render';

describe('the header of the job page', () => {
  it.each([
    [1, ['Trigger savepoint', 'Suspend', 'Cancel', 'More']],
    [7, ['Start', 'More']],
  ])('shows for job %d only the actions that the API lists', async (id, labels) => {
    await renderJob(id, '/runs', { as: 'operator' });
    await screen.findByRole('button', { name: 'More' });
    for (const name of ['Start', 'Trigger savepoint', 'Suspend', 'Cancel', 'More']) expect(screen.queryAllByRole('button', { name })).toHaveLength(labels.includes(name) ? 1 : 0);
  });

  it('proposes a plan to rescale the job, and shows in the menu why an action is disabled', async () => {
    const { user } = await renderJob(1, '', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'More' }));
    const menu = await screen.findByRole('menu');
    expect(within(menu).getByText(/is running\. Suspend or cancel the job first\.$/)).toBeVisible();
    await user.click(within(menu).getByText('Rescale…'));
    const field = await screen.findByRole('textbox', { name: 'Parallelism' });
    await waitFor(() => expect(field).toHaveAccessibleDescription('1 to 1024; currently 4'));
    await user.type(field, '4');
    expect(field).toHaveAccessibleDescription('The job already has parallelism 4.');
    expect(screen.getByRole('button', { name: 'Preview plan' })).toBeDisabled();
    await user.clear(field);
    await user.type(field, '8');
    await user.click(screen.getByRole('button', { name: 'Preview plan' }));
    expect(await screen.findByRole('heading', { name: /Rescale to parallelism 8/ })).toBeVisible();
  });

  it('does not confirm a destructive action if the user presses Enter twice', async () => {
    const { fake, user } = await renderJob(1);
    (await screen.findByRole('button', { name: 'Cancel' })).focus();
    await user.keyboard('{Enter}');
    const dialog = await screen.findByRole('dialog', { name: 'Cancel flights-delays?' });
    expect(within(dialog).getByRole('button', { name: 'Keep running' })).toHaveFocus();
    await user.keyboard('{Enter}');
    expect(dialog).not.toBeInTheDocument();
    expect(fake.requests.filter(({ method }) => method === 'POST')).toEqual([]);
    await user.keyboard('{Enter}');
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Cancel job' }));
    expect(await screen.findByText('Cancel requested')).toBeVisible();
  });

  it('a start revokes unknown output only if the user selects the option for this start', async () => {
    const { fake, user } = await renderJob(7);
    const started = async (): Promise<unknown> => fake.requests.findLast(({ method, url }) => method === 'POST' && url.endsWith('/start'))!.clone().json();
    await user.click(await screen.findByRole('button', { name: 'Start' }));
    const option = await screen.findByRole('checkbox', { name: 'Revoke unknown output' });
    expect(option).not.toBeChecked();
    expect(option).toHaveAccessibleDescription(/--revoke-unknown-output/);
    await user.click(option);
    await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Start' }));
    expect(await screen.findByText('Start requested')).toBeVisible();
    expect(await started()).toEqual({ revoke_unknown_output: true });
    await user.click(await screen.findByRole('button', { name: 'Suspend' }));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Suspend' }));
    await user.click(await screen.findByRole('button', { name: 'Start' }));
    expect(await screen.findByRole('checkbox', { name: 'Revoke unknown output' })).not.toBeChecked();
    await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Start' }));
    await waitFor(async () => expect(await started()).toEqual({ revoke_unknown_output: false }));
  });

  it('offers to revoke unknown output only to users who may roll back', async () => {
    const { user } = await renderJob(7, '', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'Start' }));
    expect(within(await screen.findByRole('dialog', { name: /^Start / })).queryByRole('checkbox')).toBeNull();
  });

  it('deletes a stopped job with a request that contains the displayed version of the job', async () => {
    const { fake, user } = await renderJob(7);
    await user.click(await screen.findByRole('button', { name: 'More' }));
    await user.click(within(await screen.findByRole('menu')).getByText('Delete…'));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete job' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
    expect(fake.requests.find(({ method }) => method === 'DELETE')!.headers.get('If-Match')).toBe('"4"');
    expect(fake.installation.find(7)).toBeUndefined();
  });
});
