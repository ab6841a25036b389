import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob, renderPage } from '../../testing/render';

const field = () => screen.findByRole('combobox', { name: 'Search commands' });
const options = (): string[] => screen.queryAllByRole('option').map(({ textContent }) => textContent ?? '');
const isPost = ({ method }: Request): boolean => method === 'POST';

describe('the command palette', () => {
  it('goes to a job that the API has found', async () => {
    const { fake, user } = await renderPage('/users');
    await user.keyboard('{Control>}k{/Control}');
    await user.type(await field(), 'delays');
    await waitFor(() => expect(fake.requests.some(({ url }) => new URL(url).searchParams.get('filter') === '{"q":"delays"}')).toBe(true));
    await waitFor(() => expect(options()).toEqual(['flights-delays']));
    expect(screen.getByRole('status', { name: '' })).toHaveTextContent('1 result');
    await user.keyboard('{Enter}');
    expect(await screen.findByRole('heading', { level: 1, name: 'flights-delays' })).toBeVisible();
    expect(globalThis.location.pathname).toBe('/jobs/1');
  });

  it('goes to a tab of the current job and to a page', async () => {
    const { user } = await renderJob(1);
    await user.keyboard('{Meta>}k{/Meta}');
    await user.type(await field(), 'event');
    await waitFor(() => expect(options()).toEqual(['Events']));
    await user.keyboard('{Enter}');
    await waitFor(() => expect(globalThis.location.pathname).toBe('/jobs/1/events'));
    await user.click(screen.getByRole('button', { name: 'Search' }));
    await user.type(await field(), 'audit');
    await user.click(await screen.findByRole('option', { name: 'Audit log' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible();
  });

  it('opens the dialog of a verb, and sends nothing before the user confirms', async () => {
    const { fake, user } = await renderJob(1, '/runs');
    await screen.findByRole('button', { name: 'More' });
    await user.keyboard('{Control>}k{/Control}');
    await field();
    expect(options()).not.toContain('Start…');
    expect(options()).not.toContain('Delete…');
    await user.keyboard('suspend');
    await waitFor(() => expect(options()).toEqual(['Suspend…']));
    await user.keyboard('{Enter}');
    const dialog = await screen.findByRole('dialog', { name: 'Suspend flights-delays?' });
    expect(fake.requests.filter(isPost)).toEqual([]);
    await user.click(within(dialog).getByRole('button', { name: 'Suspend' }));
    await waitFor(() => expect(fake.requests.filter(isPost).map(({ url }) => new URL(url).pathname)).toEqual(['/api/v1/jobs/1/suspend']));
  });

  it('shows a viewer no verbs and only the pages of a viewer', async () => {
    const { user } = await renderJob(1, '/runs', { as: 'viewer' });
    await user.keyboard('{Control>}k{/Control}');
    await field();
    expect(options()).toEqual(expect.arrayContaining(['Overview', 'Runs', 'Home', 'Tokens']));
    for (const hidden of ['Suspend…', 'Users', 'Audit log']) expect(options()).not.toContain(hidden);
  });

  it('closes with Escape, returns the focus, and says that nothing matches', async () => {
    const { user } = await renderPage('/users');
    const button = screen.getByRole('button', { name: 'Search' });
    await user.click(button);
    await user.type(await field(), 'no such command');
    expect(await screen.findByText('No job, page or action matches this text.')).toBeVisible();
    await user.keyboard('{Escape}');
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    expect(button).toHaveFocus();
  });

  it('does not open above another dialog', async () => {
    const { user } = await renderJob(1, '/runs');
    await user.click(await screen.findByRole('button', { name: 'Suspend' }));
    await screen.findByRole('dialog', { name: 'Suspend flights-delays?' });
    await user.keyboard('{Control>}k{/Control}');
    expect(screen.getAllByRole('dialog')).toHaveLength(1);
    expect(screen.queryByRole('combobox', { name: 'Search commands' })).toBeNull();
  });
});
