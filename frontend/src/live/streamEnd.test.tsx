/** Tests of pages whose stream the API ends permanently. */
import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob, renderPage } from '../testing/render';

/** The timeout of waits is shorter than all refetch intervals, so that a periodic refetch cannot make a test pass. */
const SOON = { timeout: 8_000 };

describe('the end of a stream', () => {
  it('the home page removes a job that another user deleted', async () => {
    const { fake } = await renderPage('/');
    const jobs = await screen.findByRole('region', { name: 'Jobs' });
    await within(jobs).findByText('9');
    // Opening the stream refetches the list once. After the refetch, only messages of the stream change the list of jobs.
    await waitFor(() => expect(fake.requests.filter(({ url }) => new URL(url).pathname === '/api/v1/jobs')).toHaveLength(2), SOON);
    fake.installation.remove(fake.installation.find(3)!);
    expect(await within(jobs).findByText('8', {}, SOON)).toBeVisible();
    expect(within(jobs).getByText('2 running')).toBeVisible();
  });

  it('the page of a job shows that the job was deleted', async () => {
    const { fake } = await renderJob(3, '/runs');
    await screen.findByText('updates live');
    fake.installation.remove(fake.installation.find(3)!);
    expect(await screen.findByText(/Live updates have stopped\. Job 3 does not exist\./, {}, SOON)).toBeVisible();
    expect(screen.getByText('no live updates')).toBeVisible();
  });

  it.each(['/', '/jobs/3/runs'])('%s opens the log-in page when the session token is no longer valid', async (path) => {
    const { fake } = await renderPage(path);
    await screen.findByText('updates live');
    fake.revoke();
    expect(await screen.findByLabelText(/^Password/, {}, SOON)).toBeVisible();
  });
});
