import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob } from '../../../testing/render';

const now = (): Promise<HTMLElement> => screen.findByRole('region', { name: 'Subtasks, now' });

describe('backpressure and alignment', () => {
  it('show each subtask, and begin with the operator that is held up most', async () => {
    await renderJob(2, '/backpressure');
    const map = await now();
    expect(await within(map).findAllByRole('button', { name: /^events → clean \[\d\]: \d+ % back-pressured$/ })).toHaveLength(8);
    expect(within(map).getByText('high')).toBeVisible();
    const operator = await screen.findByRole('region', { name: 'events → clean' });
    expect(await within(operator).findByRole('img', { name: /^Use of time in the last 15 min: Back-pressured \d+ %/ })).toBeVisible();
    expect(await within(operator).findByRole('img', { name: /^Alignment: / })).toBeVisible();
  });

  it('show the one subtask that was chosen', async () => {
    const { user, fake } = await renderJob(2, '/backpressure');
    await user.click(await within(await now()).findByRole('button', { name: /^counts by user → counts \[1\]/ }));
    const chosen = await screen.findByRole('region', { name: 'counts by user → counts [1]' });
    expect(await within(chosen).findByText('Use of time, subtask 1')).toBeVisible();
    expect(await within(chosen).findByText(/^Alignment in the last \d+ checkpoints, subtask 1$/)).toBeVisible();
    expect(fake.asked.some(({ url }) => /checkpoints\/series\?.*chain=1/.test(url))).toBe(true);
  });

  it('go back as far as is asked for', async () => {
    const { user, fake } = await renderJob(2, '/backpressure');
    await user.click(await screen.findByRole('button', { name: '24 h' }));
    expect(await screen.findByRole('img', { name: /^Use of time in the last 24 h/ })).toBeVisible();
    const asked = fake.asked.map(({ url }) => new URL(url).searchParams).find((query) => query.get('step_s') === '240')!;
    expect(Date.now() - Date.parse(asked.get('since')!)).toBeGreaterThan(86_000_000);
  });

  it('show alignment by the last checkpoint', async () => {
    const { user } = await renderJob(2, '/backpressure');
    await user.click(await screen.findByRole('button', { name: 'Alignment' }));
    const map = await screen.findByRole('region', { name: /^Subtasks, in checkpoint \d+$/ });
    expect(within(map).getAllByRole('button', { name: /^counts by user → counts \[\d\]: .* alignment$/ })).toHaveLength(8);
  });

  it('of a job that rests say so, and let look at its past', async () => {
    await renderJob(7, '/backpressure');
    expect(await screen.findByText(/Nothing is measured just now/)).toBeVisible();
    expect(await screen.findByText('Nothing was measured in the last 15 min')).toBeVisible();
  });
});
