import { act, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob } from '../../../testing/render';

const now = (): Promise<HTMLElement> => screen.findByRole('region', { name: 'Subtasks now' });

describe('the backpressure tab', () => {
  it('shows each subtask and selects the most loaded operator', async () => {
    await renderJob(2, '/backpressure');
    const map = await now();
    expect(await within(map).findAllByRole('button', { name: /^events → clean \[\d\]: \d+ % backpressured$/ })).toHaveLength(8);
    expect(within(map).getByText('high')).toBeVisible();
    const operator = await screen.findByRole('region', { name: 'counts by user → counts' });
    expect(await within(operator).findByRole('img', { name: /^Busy, idle, backpressured and queued time in the last 15 min: Backpressured last .*%/ })).toBeVisible();
  });

  it('shows the alignment of each subtask, except for sources', async () => {
    const { user } = await renderJob(2, '/backpressure?operator=0');
    const source = await screen.findByRole('region', { name: 'events → clean' });
    expect(await within(source).findByText('No alignment')).toBeVisible();
    expect(within(source).queryByRole('img', { name: /^Alignment/ })).toBeNull();
    await user.click(within(await now()).getByRole('button', { name: 'counts by user → counts' }));
    const operator = await screen.findByRole('region', { name: 'counts by user → counts' });
    expect(await within(operator).findByRole('img', { name: /^Alignment: / })).toBeVisible();
  });

  it('stores the selection in the URL', async () => {
    const { user } = await renderJob(2, '/backpressure?operator=1&subtask=2');
    expect(await screen.findByRole('region', { name: 'counts by user → counts [2]' })).toBeVisible();
    const map = await now();
    expect(within(map).getByRole('button', { name: /^counts by user → counts \[2\]/ })).toHaveAttribute('aria-pressed', 'true');
    await user.click(within(map).getByRole('button', { name: 'events → clean' }));
    expect(await screen.findByRole('region', { name: 'events → clean' })).toBeVisible();
    expect(globalThis.location.search).toBe('?operator=0');
    act(() => globalThis.history.back());
    expect(await screen.findByRole('region', { name: 'counts by user → counts [2]' })).toBeVisible();
  });

  it('selects the most loaded operator if the URL names an unknown operator', async () => {
    await renderJob(2, '/backpressure?operator=17');
    expect(await screen.findByRole('region', { name: 'counts by user → counts' })).toBeVisible();
  });

  it('shows the bottleneck first, or the table in graph order', async () => {
    const { user, fake } = await renderJob(2, '/backpressure');
    const table = await screen.findByRole('region', { name: 'Operators and their subtasks' });
    expect(table).toHaveAttribute('tabindex', '0');
    const rows = (): HTMLElement[] => within(table).getAllByRole('row').slice(1);
    expect(within(rows()[0]!).getByRole('rowheader')).toHaveTextContent('counts by user → counts');
    expect(within(rows()[0]!).getByRole('rowheader').firstChild).toHaveAttribute('aria-pressed', 'true');
    await user.click(screen.getByRole('button', { name: 'Graph order' }));
    const { chains, logical } = fake.installation.find(2)!.template.graph;
    const names = chains.map(({ operators }) => operators.map((uid) => logical.operators.find((one) => one.uid === uid)!.name).join(' → '));
    expect(rows().map((row) => within(row).getByRole('rowheader').textContent)).toEqual(names);
  });

  it('shows charts of a selected subtask', async () => {
    const { user, fake } = await renderJob(2, '/backpressure');
    await user.click(await within(await now()).findByRole('button', { name: /^counts by user → counts \[1\]/ }));
    const chosen = await screen.findByRole('region', { name: 'counts by user → counts [1]' });
    expect(await within(chosen).findByText('Busy, idle, backpressured and queued time (subtask 1)')).toBeVisible();
    expect(await within(chosen).findByText(/^Alignment in the last \d+ checkpoints, subtask 1$/)).toBeVisible();
    expect(fake.requests.some(({ url }) => /checkpoints\/series\?.*chain=1/.test(url))).toBe(true);
  });

  it('fetches metrics of the selected time range', async () => {
    const { user, fake } = await renderJob(2, '/backpressure');
    await user.click(await screen.findByRole('button', { name: '24 h' }));
    expect(await screen.findByRole('img', { name: /^Busy, idle, backpressured and queued time in the last 24 h/ })).toBeVisible();
    expect(globalThis.location.search).toBe('?range=24h');
    const asked = fake.requests.map(({ url }) => new URL(url).searchParams).find((query) => query.get('step_s') === '240')!;
    expect(Date.now() - Date.parse(asked.get('since')!)).toBeGreaterThan(86_000_000);
  });

  it('a link contains the time range, and the range stays the same if the user selects another operator', async () => {
    const { user } = await renderJob(2, '/backpressure?operator=1&range=6h');
    const operator = await screen.findByRole('region', { name: 'counts by user → counts' });
    expect(within(operator).getByRole('button', { name: '6 h' })).toHaveAttribute('aria-pressed', 'true');
    expect(await within(operator).findByRole('img', { name: /^Busy, idle, backpressured and queued time in the last 6 h/ })).toBeVisible();
    await user.click(within(await now()).getByRole('button', { name: 'events → clean' }));
    const other = await screen.findByRole('region', { name: 'events → clean' });
    expect(within(other).getByRole('button', { name: '6 h' })).toHaveAttribute('aria-pressed', 'true');
    expect(globalThis.location.search).toBe('?operator=0&range=6h');
    await user.click(within(other).getByRole('button', { name: '15 min' }));
    expect(globalThis.location.search).toBe('?operator=0&range=15min');
  });

  it('shows the shortest time range if the URL names an unknown range', async () => {
    await renderJob(2, '/backpressure?range=7d');
    expect(await screen.findByRole('button', { name: '15 min' })).toHaveAttribute('aria-pressed', 'true');
  });

  it('shows the alignment of the last checkpoint', async () => {
    const { user } = await renderJob(2, '/backpressure');
    await user.click(await screen.findByRole('button', { name: 'Alignment' }));
    const map = await screen.findByRole('region', { name: /^Subtasks in checkpoint \d+$/ });
    expect(within(map).getAllByRole('button', { name: /^counts by user → counts \[\d\]: .* alignment$/ })).toHaveLength(8);
  });

  it('shows past metrics of a stopped job and does not fetch current metrics', async () => {
    const { fake } = await renderJob(7, '/backpressure');
    expect(await screen.findByText(/No current metrics/)).toBeVisible();
    // Recent metrics of a stopped job must not be shown as current.
    expect(fake.requests.filter(({ url }) => /\/metrics/.test(url)).every(({ url }) => /chain=/.test(url))).toBe(true);
    expect(await screen.findByText('No metrics in the last 15 min')).toBeVisible();
  });
});
