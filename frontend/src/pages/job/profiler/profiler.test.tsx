import axe from 'axe-core';
import { act, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob, type Rendered } from '../../../testing/render';

async function pass({ fake }: Rendered, ms: number): Promise<void> {
  await act(async () => fake.installation.advance(fake.installation.nowMs + ms));
}

const box = (name: string | RegExp) => screen.findByRole('treeitem', { name });

async function takeProfile(rendered: Rendered): Promise<void> {
  await rendered.user.click(await screen.findByRole('button', { name: 'Take profile' }));
  await screen.findByText(/is taking a profile of 10 s/);
}

describe('the profiler of a job', () => {
  it('takes a profile of the slot in the URL and shows it as a flame graph', async () => {
    const rendered = await renderJob(1, '/profiler?slot=2', { as: 'operator' });
    expect(await screen.findByText('No profiles yet')).toBeVisible();
    await takeProfile(rendered);
    const request = rendered.fake.requests.find(({ method }) => method === 'POST')!;
    expect(await request.json()).toEqual({ slot: 2, seconds: 10 });
    expect(screen.getByText('Slot 2 is taking a profile of 10 s')).toBeVisible();

    await pass(rendered, 11_000);
    expect(await box(/^parse_delay \(flights.py:12\): 74 % of samples \(740\), 13 % in the function itself$/)).toBeVisible();
    const top = within(screen.getByRole('table', { name: 'Top functions' })).getAllByRole('row');
    expect(top[1]).toHaveTextContent(/^JSONDecoder.decodejson\/decoder.py:33742 %42 %$/);
  });

  it('moves the focus with the arrow keys, and zooms in and out with the keyboard', async () => {
    const rendered = await renderJob(1, '/profiler');
    await takeProfile(rendered);
    await pass(rendered, 11_000);
    const thread = await box(/^weir-loop: 100 %/);
    act(() => thread.focus());
    await rendered.user.keyboard('{ArrowDown}{ArrowRight}{ArrowDown}');
    expect(await box(/^SlotProcess._turns/)).toHaveFocus();
    await rendered.user.keyboard('{Enter}');
    expect(screen.queryByRole('treeitem', { name: /^EpollSelector/ })).toBeNull();
    await rendered.user.click(screen.getByRole('button', { name: 'Reset zoom' }));
    expect(await box(/^EpollSelector/)).toBeVisible();
  });

  it('shows another thread', async () => {
    const rendered = await renderJob(1, '/profiler');
    await takeProfile(rendered);
    await pass(rendered, 11_000);
    await rendered.user.click(await screen.findByRole('combobox', { name: 'Thread' }));
    await rendered.user.click(screen.getByRole('option', { name: 'weir-snapshots, 2 % on CPU' }));
    expect(await box(/^Condition.wait/)).toBeVisible();
  });

  it('shows why a profile failed, and says that samples were dropped', async () => {
    const rendered = await renderJob(2, '/profiler');
    await takeProfile(rendered);
    await rendered.user.click(screen.getByRole('button', { name: 'Take profile' }));
    expect(await screen.findByText('Slot 0 is already taking a profile. Retry when that profile has ended.')).toBeVisible();
    await pass(rendered, 11_000);
    await rendered.user.click(screen.getByRole('combobox', { name: 'Profile' }));
    // The name of the option contains the state until the profile is complete.
    await rendered.user.click(await screen.findByRole('option', { name: /^Slot 0, 10 s, [^a-z]*$/ }));
    expect(await screen.findByText(/^7 samples dropped: /)).toBeVisible();
  });

  it('lets viewers read profiles but not take them', async () => {
    await renderJob(1, '/profiler', { as: 'viewer' });
    expect(await screen.findByText('No profiles yet')).toBeVisible();
    expect(screen.queryByRole('button', { name: 'Take profile' })).toBeNull();
  });

  it('says why a job that does not run takes no profile', async () => {
    const rendered = await renderJob(1, '/profiler');
    rendered.fake.installation.runOperation(rendered.fake.installation.find(1)!, 'suspend');
    await pass(rendered, 1_000);
    expect(await screen.findByRole('button', { name: 'Take profile', description: /is not running. Start the job first./ })).toBeVisible();
  });

  it('has no accessibility violations', async () => {
    const rendered = await renderJob(1, '/profiler');
    await takeProfile(rendered);
    await pass(rendered, 11_000);
    await box(/^weir-loop/);
    // jsdom has no layout, so it cannot check contrast. tests/e2e checks the contrast in a browser.
    const { violations } = await axe.run(screen.getByRole('main'), { rules: { 'color-contrast': { enabled: false } } });
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });
});
