import { screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob, renderPage } from '../testing/render';

describe('rows with buttons', () => {
  it.each([
    ['/jobs', 'clicks-sessions', 'clicks-sessions'],
    ['/users', 'mira.holt', 'mira.holt'],
  ])('the link in the first cell of a row of %s opens the record with one navigation', async (path, name, title) => {
    const { user } = await renderPage(path);
    const before = globalThis.history.length;
    (await screen.findByRole('link', { name })).focus();
    await user.keyboard('{Enter}');
    expect(await screen.findByRole('heading', { level: 1, name: title })).toBeVisible();
    expect(globalThis.history.length).toBe(before + 1);
  });

  it('the button with the number of a checkpoint expands and collapses the row', async () => {
    const { user } = await renderJob(1, '/checkpoints');
    const [newest] = await screen.findAllByRole('button', { name: /^\d+ checkpoint details$/ });
    expect(newest).toHaveAttribute('aria-expanded', 'false');
    newest!.focus();
    await user.keyboard('{Enter}');
    expect(newest).toHaveAttribute('aria-expanded', 'true');
    expect(await screen.findByRole('region', { name: /^Checkpoint \d+$/ })).toBeVisible();
    await user.keyboard(' ');
    expect(newest).toHaveAttribute('aria-expanded', 'false');
  });

  it('the button with the time of an audit entry expands the row, and its accessible name describes the entry', async () => {
    const { user } = await renderPage('/audit');
    const [entry] = await screen.findAllByRole('button', { name: /ago \S+ of .* by / });
    entry!.focus();
    await user.keyboard('{Enter}');
    expect(await screen.findByText('Request')).toBeVisible();
  });
});
