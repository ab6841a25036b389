import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderPage } from '../../testing/render';

describe('the list of jobs', () => {
  it('shows state, health, last checkpoint, throughput and lag', async () => {
    await renderPage('/jobs');
    const row = (await screen.findByText('payments-fraud-score')).closest('tr')!;
    expect(within(row).getByText('running')).toBeVisible();
    expect(within(row).getByText(/s ago/)).toBeVisible();
    expect(await within(row).findByText(/k\/s$/)).toBeVisible();
    expect(within(row).getByText('2,418,000 records')).toBeVisible();
  });

  it('asks for the rates of all its rows at once', async () => {
    const { fake } = await renderPage('/jobs');
    await screen.findByText('2,418,000 records');
    const asked = fake.asked.filter(({ url }) => url.includes('/metrics/'));
    expect(asked).toHaveLength(1);
    expect(new URL(asked[0]!.url).searchParams.getAll('job_id')).toHaveLength(9);
  });

  it('finds jobs by a part of their names', async () => {
    const { user } = await renderPage('/jobs');
    await screen.findByText('clicks-sessions');
    await user.type(screen.getByRole('textbox', { name: /name of a job/ }), 'ads');
    expect(await screen.findByText('ads-attribution')).toBeVisible();
    await user.type(screen.getByRole('textbox', { name: /name of a job/ }), 'zzz');
    expect(await screen.findByText('No job has “adszzz” in its name')).toBeVisible();
  });
});
