/** Streams that the backend has no more to tell on, as it ends them: pages over the invented installation. */
import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob, renderPage } from '../testing/render';

/** Before anything is asked for again by itself. */
const SOON = { timeout: 8_000 };

describe('a page whose stream tells that it is over', () => {
  it('forgets a job that somebody else has deleted', async () => {
    const { fake } = await renderPage('/');
    const jobs = await screen.findByRole('region', { name: 'Jobs' });
    await within(jobs).findByText('9');
    // Once more as soon as the line is there; from then on it is the stream that has it asked for again.
    await waitFor(() => expect(fake.asked.filter(({ url }) => new URL(url).pathname === '/api/v1/jobs')).toHaveLength(2), SOON);
    fake.world.remove(fake.world.find(3)!);
    expect(await within(jobs).findByText('8', {}, SOON)).toBeVisible();
    expect(within(jobs).getByText('2 running')).toBeVisible();
  });

  it('says that the job that it shows is gone', async () => {
    const { fake } = await renderJob(3, '/runs');
    await screen.findByText('updates live');
    fake.world.remove(fake.world.find(3)!);
    expect(await screen.findByText(/Changes are not shown any more: there is no job 3\./, {}, SOON)).toBeVisible();
    expect(screen.getByText('not followed')).toBeVisible();
  });

  it.each(['/', '/jobs/3/runs'])('asks who it is once its token is not valid any more: %s', async (path) => {
    const { fake } = await renderPage(path);
    await screen.findByText('updates live');
    fake.revoke();
    expect(await screen.findByLabelText(/^Password/, {}, SOON)).toBeVisible();
  });
});
