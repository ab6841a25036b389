import { cleanup, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { World } from '../../fake/world';
import { renderPage } from '../../testing/render';
import { JOBS_MAX } from '../jobs/useAllJobs';

describe('home', () => {
  it('counts jobs by state and names those that need a person', async () => {
    await renderPage('/');
    const jobs = await screen.findByRole('region', { name: 'Jobs' });
    expect(within(jobs).getByText('9')).toBeVisible();
    expect(within(jobs).getByText('3 running')).toBeVisible();
    expect(within(screen.getByRole('region', { name: 'Need a person' })).getByText('1')).toBeVisible();
    const rows = within(screen.getByRole('region', { name: /not where they should be/ })).getAllByRole('row');
    expect(rows[1]).toHaveTextContent(/orders-enrichment.*needs a person.*disk quota/);
    expect(rows).toHaveLength(4);
  });

  it('shows the oldest last checkpoint of those that are meant to run', async () => {
    await renderPage('/');
    const oldest = await screen.findByRole('region', { name: /Oldest last checkpoint/ });
    expect(oldest).toHaveTextContent(/1 h 30 min.*orders-enrichment/);
  });

  it('says of how many it is where there are more than it asks for', async () => {
    const world = new World(Date.now());
    const resting = world.find(7)!;
    for (let id = 10; id <= JOBS_MAX + 1; id += 1) world.jobs.push({ ...resting, job: { ...resting.job, id, name: `job-${id}` } });
    await renderPage('/', { world });
    expect(await screen.findByText(/those of the first 2,000 jobs; there are 2,001/)).toBeVisible();
    expect(decodeURIComponent(screen.getByRole('link', { name: /of all that need a person/ }).getAttribute('href')!)).toBe('/jobs?filter={"needs_person":true}');
  });

  it('hears of a job that stops without asking for anything else than the list', async () => {
    const { fake } = await renderPage('/');
    await screen.findByText('3 running');
    fake.world.obey(fake.world.find(3)!, 'suspend');
    expect(await screen.findByText('2 running')).toBeVisible();
    expect(screen.getByText('2 suspended')).toBeVisible();
  });

  it.each([['operator', 'Deploy the first one'], ['viewer', null]] as const)('says to a %s how the first job would come there', async (as, link) => {
    await renderPage('/', { as, world: new World(Date.now(), 7, []) });
    expect(await screen.findByText('No jobs yet')).toBeVisible();
    expect(screen.queryByRole('link', { name: /Deploy/ })?.textContent ?? null).toBe(link);
  });

  it('shows the newest open alerts, and goes on without them', async () => {
    const { fake } = await renderPage('/');
    const alerts = await screen.findByRole('region', { name: 'Open alerts' });
    expect(await within(alerts).findByText('3')).toBeVisible();
    expect(within(alerts).getAllByRole('listitem')[0]).toHaveTextContent(/payments-fraud-scorefraud is late, 21 min ago/);
    expect(within(alerts).getByRole('link', { name: 'All alerts' })).toHaveAttribute('href', '/alerts');
    fake.world.office.alerts.length = 0;
    cleanup();
    await renderPage('/', { world: fake.world });
    expect(await screen.findByText('no rule holds')).toBeVisible();
  });
});
