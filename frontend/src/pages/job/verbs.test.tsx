import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob } from '../../testing/render';
import { verbsOf } from './verbs';

type Job = Parameters<typeof verbsOf>[0];
const job = (change: Partial<Job> = {}): Job => ({ name: 'a', desired_state: 'RUNNING', state: 'RUNNING', operation: null, spec_state: 'VALID', run: { ended_at: null } as Job['run'], ...change });
const said = (change: Partial<Job>): string[] => {
  const { main, more } = verbsOf(job(change));
  return [...main, ...more].map(({ verb, why }) => (why === null ? verb : `(${verb})`));
};

describe('verbs of a job', () => {
  it.each([
    [{}, ['savepoint', 'suspend', 'cancel', 'rescale', 'upgrade', '(delete)']],
    [{ state: 'RESTARTING' }, ['(savepoint)', 'suspend', 'cancel', 'rescale', 'upgrade', '(delete)']],
    [{ state: 'FAILED' }, ['start', 'cancel', 'rescale', 'upgrade', '(delete)']],
    [{ state: 'SUSPENDED', desired_state: 'SUSPENDED' }, ['start', 'rescale', 'upgrade', 'delete']],
    [{ state: 'RUNNING', desired_state: 'SUSPENDED' }, ['start', 'cancel', 'rescale', 'upgrade', '(delete)']],
    [{ state: 'FINISHED' }, ['(start)', '(rescale)', 'upgrade', 'delete']],
    [{ state: 'CREATED', desired_state: 'SUSPENDED', spec_state: 'INVALID' }, ['(start)', '(rescale)', 'upgrade', 'delete']],
  ] satisfies [Partial<Job>, string[]][])('of %o', (change, verbs) => expect(said(change)).toEqual(verbs));

  it('wait for the plan that is being applied', () => {
    const operation = { kind: 'apply-plan', ended_at: null, request: { plan: 4 } } as unknown as NonNullable<Job['operation']>;
    const { main, more } = verbsOf(job({ operation }));
    for (const { why } of [...main, ...more]) expect(why).not.toBeNull();
    expect(main[1]!.why).toMatch(/Plan 4 is being applied/);
  });

  it('rescale by a plan, and say in the menu why something is not possible', async () => {
    const { user } = await renderJob(1, '', { as: 'operator' });
    await user.click(await screen.findByRole('button', { name: 'More' }));
    const menu = await screen.findByRole('menu');
    expect(within(menu).getByText('It is to run: suspend or cancel it first.')).toBeVisible();
    await user.click(within(menu).getByText('Rescale…'));
    const field = await screen.findByRole('textbox', { name: 'Parallelism' });
    await waitFor(() => expect(field).toHaveAccessibleDescription('1 to 1024; now 4'));
    await user.type(field, '4');
    expect(field).toHaveAccessibleDescription('It is 4 now: there is nothing to rescale');
    expect(screen.getByRole('button', { name: 'See what it would do' })).toBeDisabled();
    await user.clear(field);
    await user.type(field, '8');
    await user.click(screen.getByRole('button', { name: 'See what it would do' }));
    expect(await screen.findByRole('heading', { name: /Rescale to a parallelism of 8/ })).toBeVisible();
  });

  it('are not done by who presses Enter twice, where nothing brings back what is lost', async () => {
    const { fake, user } = await renderJob(1);
    (await screen.findByRole('button', { name: 'Cancel' })).focus();
    await user.keyboard('{Enter}');
    const dialog = await screen.findByRole('dialog', { name: 'Cancel flights-delays?' });
    expect(within(dialog).getByRole('button', { name: 'Leave it' })).toHaveFocus();
    await user.keyboard('{Enter}');
    expect(dialog).not.toBeInTheDocument();
    expect(fake.asked.filter(({ method }) => method === 'POST')).toEqual([]);
    await user.keyboard('{Enter}');
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Cancel the job' }));
    expect(await screen.findByText('It is being cancelled')).toBeVisible();
  });

  it('delete what does not run, as it was seen', async () => {
    const { fake, user } = await renderJob(7);
    await user.click(await screen.findByRole('button', { name: 'More' }));
    await user.click(within(await screen.findByRole('menu')).getByText('Delete…'));
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
    expect(fake.asked.find(({ method }) => method === 'DELETE')!.headers.get('If-Match')).toBe('"4"');
    expect(fake.world.find(7)).toBeUndefined();
  });
});
