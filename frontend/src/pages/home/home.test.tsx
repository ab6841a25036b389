import { cleanup, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { Installation } from '../../fake/installation';
import { renderPage } from '../../testing/render';
import { JOBS_MAX } from '../jobs/useAllJobs';

describe('home', () => {
  it('counts jobs by state and lists the jobs that need attention', async () => {
    await renderPage('/');
    const jobs = await screen.findByRole('region', { name: 'Jobs' });
    expect(within(jobs).getByText('9')).toBeVisible();
    expect(within(jobs).getByText('3 running')).toBeVisible();
    expect(within(screen.getByRole('region', { name: 'Needs attention' })).getByText('1')).toBeVisible();
    const rows = within(screen.getByRole('region', { name: /Unhealthy jobs/ })).getAllByRole('row');
    expect(rows[1]).toHaveTextContent(/orders-enrichment.*needs attention.*disk quota/);
    expect(rows).toHaveLength(4);
  });

  it('shows the job with the stalest checkpoint among the jobs that should be running', async () => {
    await renderPage('/');
    const oldest = await screen.findByRole('region', { name: 'Stalest checkpoint' });
    expect(oldest).toHaveTextContent(/1 h 30 min.*orders-enrichment/);
  });

  it('says how many jobs the page covers if the page does not fetch all jobs', async () => {
    const installation = new Installation(Date.now());
    const resting = installation.find(7)!;
    for (let id = 10; id <= JOBS_MAX + 1; id += 1) installation.jobs.push({ ...resting, job: { ...resting.job, id, name: `job-${id}` } });
    await renderPage('/', { installation });
    expect(await screen.findByText(/cover the first 2,000 of 2,001 jobs/)).toBeVisible();
    expect(decodeURIComponent(screen.getByRole('link', { name: 'Show all jobs that need attention' }).getAttribute('href')!)).toBe('/jobs?filter={"needs_attention":true}');
  });

  it('updates the counts when a job stops', async () => {
    const { fake } = await renderPage('/');
    await screen.findByText('3 running');
    fake.installation.runOperation(fake.installation.find(3)!, 'suspend');
    expect(await screen.findByText('2 running')).toBeVisible();
    expect(screen.getByText('2 suspended')).toBeVisible();
  });

  it.each([['operator', 'Deploy a job'], ['viewer', null]] as const)('shows a user with role %s how to get the first job', async (as, link) => {
    await renderPage('/', { as, installation: new Installation(Date.now(), 7, []) });
    expect(await screen.findByText('No jobs yet')).toBeVisible();
    expect(screen.queryByRole('link', { name: /Deploy/ })?.textContent ?? null).toBe(link);
  });

  it('shows the newest firing alerts', async () => {
    const { fake } = await renderPage('/');
    const alerts = await screen.findByRole('region', { name: 'Firing alerts' });
    expect(await within(alerts).findByText('3')).toBeVisible();
    expect(within(alerts).getAllByRole('listitem')[0]).toHaveTextContent(/payments-fraud-scorefraud lag, 21 min ago/);
    expect(within(alerts).getByRole('link', { name: 'All alerts' })).toHaveAttribute('href', '/alerts');
    fake.installation.administration.alerts.length = 0;
    cleanup();
    await renderPage('/', { installation: fake.installation });
    expect(await screen.findByText('no firing alerts')).toBeVisible();
  });
});
