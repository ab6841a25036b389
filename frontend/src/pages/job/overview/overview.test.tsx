import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

import { renderJob, type Rendered } from '../../../testing/render';

const line = (): HTMLElement => screen.getByTestId('wave-line');
const cells = (): string => screen.getAllByRole('img').map((one) => one.dataset.steps ?? '').join('');
const graph = () => screen.findByRole('region', { name: 'Graph' });
const node = (name: string | RegExp) => screen.findByRole('group', { name });

async function pass({ fake }: Rendered, ms: number): Promise<void> {
  await act(async () => fake.world.advance(fake.world.nowMs + ms));
}

describe('the overview of a job', () => {
  it('draws its operators with their parallelism, figures and backpressure', async () => {
    await renderJob(1);
    const source = await node(/^flights → parse delays → late only, 4 subtasks/);
    expect(within(source).getByText('×4')).toBeInTheDocument();
    await waitFor(() => expect(within(source).getByText(/k\/s → .*k\/s/)).toBeInTheDocument());
    expect(within(source).getByText(/^(low|high)$/)).toBeInTheDocument();
    expect(within(source).getByText(/^busy \d+ %$/)).toHaveAttribute('title', expect.stringMatching(/^the busiest subtask, \[\d\]$/));
    expect(within(source).getByText(/^back-pressured \d\d %$/)).toHaveAttribute('title', expect.stringMatching(/^the most back-pressured subtask, \[\d\]$/));
    expect(source).toHaveAccessibleName(/at most \d+ % busy, at most \d\d % back-pressured \((low|high)\)$/);
    await waitFor(() => expect(within(source).getByText(/^state \d.* [kM]B$/)).toBeInTheDocument());
  });

  it('says how records are dealt out, and how many', async () => {
    await renderJob(1);
    const region = await graph();
    expect(await within(region).findByText('hash origin, dest', { selector: 'text' })).toBeInTheDocument();
    await waitFor(() => expect(within(region).getAllByText(/^\d+(\.\d)? k\/s$/).length).toBeGreaterThan(0));
  });

  it('shows the subtasks of the operators that are chosen, and closes them again', async () => {
    const { user } = await renderJob(1);
    // Not by `user`: what pans the graph wants the window of a mouse that is pressed, and jsdom's has none.
    fireEvent.click(within(await node(/^delay by carrier, /)).getByText('delay by carrier'));
    const side = await screen.findByRole('complementary', { name: 'delay by carrier' });
    expect(within(side).getAllByRole('row')).toHaveLength(5);
    expect(within(side).getByText(/keeps state/)).toBeVisible();
    await waitFor(() => expect(within(side).getAllByRole('img', { name: /^busy \d+ %, back-pressured/ })).toHaveLength(4));
    await user.click(within(side).getByRole('button', { name: 'Close' }));
    expect(screen.queryByRole('complementary')).toBeNull();
    expect(await node(/^delay by carrier, /)).toHaveFocus();
  });

  it('says how many exceptions there were, and leads to them', async () => {
    const { fake, user } = await renderJob(4);
    const told = fake.world.find(4)!.failures.length;
    expect(told).toBeGreaterThan(0);
    await user.click(await within(await screen.findByRole('region', { name: 'Now' })).findByRole('link', { name: String(told) }));
    expect(await screen.findByRole('heading', { name: 'Exceptions' })).toBeVisible();
  });

  it('opens them from the keyboard', async () => {
    const { user } = await renderJob(1);
    (await node(/^delay by carrier, /)).focus();
    await user.keyboard('{Enter}');
    expect(await screen.findByRole('complementary', { name: 'delay by carrier' })).toBeVisible();
  });

  it('moves the barriers while a checkpoint runs, names who holds it, and says when it is complete', async () => {
    const rendered = await renderJob(1);
    await node(/^flights → parse/);
    await pass(rendered, 7_000);
    await waitFor(() => expect(line()).toHaveTextContent(/in progress.*0 of 24 acknowledged after .*nobody has acknowledged yet/));
    expect(cells()).toMatch(/^0+$/);
    await pass(rendered, 1_000);
    await waitFor(() => expect(line()).toHaveTextContent(/[1-9]\d* of 24 acknowledged.*for \d/));
    expect(cells()).toMatch(/3/);
    expect(cells()).toMatch(/[12]/);
    await waitFor(() => expect(line()).toHaveTextContent(/queued behind records|writing its state|nothing is heard/));
    await pass(rendered, 60_000);
    await waitFor(() => expect(line()).toHaveTextContent(/completed.*in \d/));
    expect(cells()).toMatch(/^3+$/);
  });

  it('replays a stored checkpoint, is moved by hand, and goes back to what is live', async () => {
    const { user } = await renderJob(1);
    await user.click(await screen.findByRole('button', { name: 'Replay the last' }));
    const controls = await screen.findByRole('group', { name: 'Replay' });
    expect(line()).toHaveTextContent(/Checkpoint 60 replay/);
    expect(globalThis.location.search).toMatch(/^\?replay=\d+$/);

    await user.click(within(controls).getByRole('button', { name: 'Pause' }));
    const slider = within(controls).getByRole('slider', { name: 'Moment of the checkpoint' });
    slider.focus();
    await user.keyboard('{End}');
    await waitFor(() => expect(cells()).toMatch(/^3+$/));
    await user.keyboard('{Home}');
    await waitFor(() => expect(cells()).not.toMatch(/3/));
    await user.keyboard('{PageUp}{PageUp}{PageUp}{PageUp}');
    await waitFor(() => expect(line()).toHaveTextContent(/of 24 acknowledged after/));

    await user.click(within(controls).getByRole('button', { name: 'Back to live' }));
    expect(screen.queryByRole('group', { name: 'Replay' })).toBeNull();
    expect(globalThis.location.search).toBe('');
    expect(screen.getByRole('heading', { name: 'Graph' })).toHaveFocus();
  });

  it('finds any stored checkpoint by its number', async () => {
    const { user } = await renderJob(1);
    await user.type(await screen.findByRole('combobox', { name: 'Replay a checkpoint' }), '3');
    await user.click(await screen.findByRole('option', { name: /^3, / }));
    await waitFor(() => expect(line()).toHaveTextContent('Checkpoint 3 replay'));
  });

  it('says of a failed checkpoint that only acknowledgements are known', async () => {
    const { user } = await renderJob(1);
    await user.type(await screen.findByRole('combobox', { name: 'Replay a checkpoint' }), '51');
    await user.click(await screen.findByRole('option', { name: /^51, failed/ }));
    await waitFor(() => expect(line()).toHaveTextContent(/Only acknowledgements are known/));
  });

  it('says so when the checkpoint in the address is not there', async () => {
    await renderJob(1, '?replay=999999');
    expect(await screen.findByText(/no checkpoint 999999/i)).toBeVisible();
    expect(await node(/^flights → parse/)).toBeInTheDocument();
  });

  it('shows the graph of a job that does not run, without figures', async () => {
    await renderJob(7);
    const source = await node(/^events → clean, /);
    expect(within(source).getByText('– → –')).toBeInTheDocument();
    expect(line()).toHaveTextContent(/^The job does not run\. Its last checkpoint, \d+, completed in \d.* s, 3 d ago\.$/);
  });

  it('says of one that has just been opened when its last checkpoint completed, and marks no subtask as waiting for a barrier', async () => {
    await renderJob(1);
    await node(/^flights → parse/);
    expect(line()).toHaveTextContent(/^Checkpoint 60 completed in \d.* s, \d+ s ago/);
    expect(screen.queryByText('Barrier:')).toBeNull();
    expect(screen.getAllByRole('img', { name: '4 subtasks' }).length).toBeGreaterThan(0);
  });

  it('explains the marks of barriers as soon as there are some', async () => {
    const rendered = await renderJob(1);
    await node(/^flights → parse/);
    await pass(rendered, 7_000);
    expect(await screen.findByText('Barrier:')).toBeInTheDocument();
    expect(screen.getByText('Channel:')).toBeInTheDocument();
  });

  it('offers no replay where nothing can be replayed', async () => {
    await renderJob(9);
    await node(/^events → clean, /);
    expect(line()).toHaveTextContent('The job does not run, and none of its checkpoints has completed.');
    expect(screen.queryByRole('button', { name: 'Replay the last' })).toBeNull();
    expect(screen.queryByRole('combobox', { name: 'Replay a checkpoint' })).toBeNull();
  });
});
