import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderPage } from '../../testing/render';

describe('the list of jobs', () => {
  it('shows state, health, last checkpoint, throughput and lag', async () => {
    await renderPage('/jobs');
    const row = (await screen.findByText('payments-fraud-score')).closest('tr')!;
    expect(within(row).getByText('running')).toBeVisible();
    expect(within(row).getByText(/s ago/)).toBeVisible();
    // The throughput column is hidden on narrow screens, and jsdom has no screen width.
    expect(await within(row).findByText(/k\/s$/)).toBeInTheDocument();
    expect(within(row).getByText('2.42 M records')).toBeVisible();
  });

  it('fetches the rates of all rows in one request', async () => {
    const { fake } = await renderPage('/jobs');
    await screen.findByText('2.42 M records');
    const asked = fake.requests.filter(({ url }) => url.includes('/metrics/'));
    expect(asked).toHaveLength(1);
    expect(new URL(asked[0]!.url).searchParams.getAll('job_id')).toHaveLength(9);
  });

  it('the list can be filtered by a part of the job name', async () => {
    const { user } = await renderPage('/jobs');
    await screen.findByText('clicks-sessions');
    await user.type(screen.getByRole('textbox', { name: 'Name contains' }), 'ads');
    await waitFor(() => expect(screen.queryByText('clicks-sessions')).toBeNull());
    expect(screen.getByText('ads-attribution')).toBeVisible();
    await user.type(screen.getByRole('textbox', { name: 'Name contains' }), 'zzz');
    expect(await screen.findByText('No results match the filters')).toBeVisible();
  });

  it('the list can be filtered by health and by desired state', async () => {
    const { user } = await renderPage('/jobs');
    await screen.findByText('clicks-sessions');
    const choose = async (field: string, option: string): Promise<void> => {
      await user.click(screen.getByLabelText(field));
      await user.click(await screen.findByRole('option', { name: option }));
    };
    await choose('Health', 'Needs attention');
    expect(await screen.findByText('1–1 of 1')).toBeVisible();
    expect(screen.getByText('orders-enrichment')).toBeVisible();
    await choose('Health', 'any');
    await choose('Desired state', 'suspended');
    await waitFor(() => expect(screen.queryByText('orders-enrichment')).toBeNull());
    expect(screen.getByText('ads-attribution')).toBeVisible();
  });

  it('selecting a label of a job filters the list by this label', async () => {
    const { user } = await renderPage('/jobs');
    await screen.findByText('clicks-sessions');
    const row = screen.getByText('payments-fraud-score').closest('tr')!;
    await user.click(within(row).getByRole('button', { name: 'team=risk' }));
    await waitFor(() => expect(screen.queryByText('clicks-sessions')).toBeNull());
    expect(screen.getByText('payments-fraud-score')).toBeVisible();
    const filter = within(screen.getByRole('search', { name: 'Filter jobs' })).getByRole('button', { name: 'team=risk' });
    await user.type(filter, '{Delete}');
    expect(await screen.findByText('clicks-sessions')).toBeVisible();
  });

  it('shows the exact lag as a tooltip', async () => {
    await renderPage('/jobs');
    expect(await screen.findByText('2.42 M records')).toHaveAttribute('title', '2,418,000 records');
  });
});
