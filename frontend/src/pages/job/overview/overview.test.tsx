import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, onTestFinished } from 'vitest';

import { renderJob, type Rendered } from '../../../testing/render';

const statusLine = (): HTMLElement => screen.getByTestId('checkpoint-status');
const cells = (): string => screen.getAllByRole('img').map((one) => one.dataset.steps ?? '').join('');
const graph = () => screen.findByRole('region', { name: 'Graph' });
const node = (name: string | RegExp) => screen.findByRole('group', { name });

async function pass({ fake }: Rendered, ms: number): Promise<void> {
  await act(async () => fake.installation.advance(fake.installation.nowMs + ms));
}

describe('the overview of a job', () => {
  it('shows operators with their parallelism, metrics and backpressure', async () => {
    await renderJob(1);
    const source = await node(/^flights → parse → late, 4 subtasks/);
    expect(within(source).getByText('×4')).toBeInTheDocument();
    await waitFor(() => expect(within(source).getByText(/k\/s → .*k\/s/)).toBeInTheDocument());
    expect(within(source).getByText(/^(low|high)$/)).toBeInTheDocument();
    expect(within(source).getByText(/^busy \d+ %$/)).toHaveAttribute('title', expect.stringMatching(/^busiest subtask: \[\d\]$/));
    expect(within(source).getByText(/^pressure \d\d %$/)).toHaveAttribute('title', expect.stringMatching(/^subtask with the highest pressure .*: \[\d\]$/));
    expect(source).toHaveAccessibleName(/up to \d+ % busy, up to \d\d % pressure \((low|high)\)$/);
    await waitFor(() => expect(within(source).getByText(/^state \d.* [kM]B$/)).toBeInTheDocument());
  });

  it('marks only the bottleneck, and describes it in the header of the page', async () => {
    const { fake } = await renderJob(2);
    const sentence = fake.installation.find(2)!.job.bottleneck!.sentence;
    expect(screen.getByText(sentence)).toBeVisible();
    const limiting = await node(/, bottleneck$/);
    expect(within(limiting).getByText('! bottleneck')).toHaveAttribute('title', sentence);
    expect(screen.getAllByText('! bottleneck')).toHaveLength(1);
  });

  it('shows the uid of an operator as its title, and its kind and its name as its subtitle', async () => {
    await renderJob(1);
    const source = await node(/^flights → parse → late, /);
    for (const [uid, subtitle] of [['flights', 'source'], ['parse', 'with_columns, parse delays'], ['late', 'filter, late only']] as const) {
      expect(within(source).getByText(uid)).toHaveAttribute('title', uid);
      expect(within(source).getByText(subtitle)).toHaveAttribute('title', subtitle);
    }
  });

  it('finds an operator by its name, highlights it and moves the focus to it', async () => {
    const { user } = await renderJob(1);
    const target = await node(/^by_carrier, /);
    await user.type(screen.getByRole('combobox', { name: 'Find operator' }), 'delay by c');
    expect(await screen.findAllByRole('option')).toHaveLength(1);
    await user.keyboard('{Enter}');
    expect(await node(/^by_carrier, /)).toHaveFocus();
    expect(target).toHaveClass('weir-found');
    expect(screen.queryByRole('complementary')).toBeNull();
    await user.keyboard('{Enter}');
    expect(await screen.findByRole('complementary', { name: 'by_carrier' })).toBeVisible();
  });

  it('links to the profiler with the slot of the busiest subtask', async () => {
    const { user } = await renderJob(1, '', { as: 'operator' });
    fireEvent.click(await node(/^flights → parse → late, /));
    const link = await screen.findByRole('link', { name: /^Profile slot \d, which runs the busiest subtask$/ });
    const slot = /\d/.exec(link.textContent)![0];
    expect(link).toHaveAttribute('href', `/jobs/1/profiler?slot=${slot}`);
    await user.click(link);
    expect(await screen.findByRole('combobox', { name: 'Slot' })).toHaveTextContent(slot);
  });

  it('says that no operator matches', async () => {
    const { user } = await renderJob(1);
    await node(/^by_carrier, /);
    await user.type(screen.getByRole('combobox', { name: 'Find operator' }), 'unknown');
    expect(await screen.findByText('No operator matches')).toBeVisible();
  });

  it('shows the graph in full screen and back, if the browser supports full screen', async () => {
    let shown: Element | null = null;
    const show = (element: Element | null): Promise<void> => {
      shown = element;
      document.dispatchEvent(new Event('fullscreenchange'));
      return Promise.resolve();
    };
    Object.defineProperties(document, { fullscreenEnabled: { value: true, configurable: true }, fullscreenElement: { get: () => shown, configurable: true }, exitFullscreen: { value: () => show(null), configurable: true } });
    Element.prototype.requestFullscreen = function (this: Element) {
      return show(this);
    };
    onTestFinished(() => {
      for (const name of ['fullscreenEnabled', 'fullscreenElement', 'exitFullscreen']) Reflect.deleteProperty(document, name);
    });
    const { user } = await renderJob(1);
    await node(/^by_carrier, /);
    await user.click(screen.getByRole('button', { name: 'Full screen' }));
    expect(shown).toContainElement(screen.getByRole('combobox', { name: 'Find operator' }));
    await user.click(await screen.findByRole('button', { name: 'Exit full screen' }));
    expect(shown).toBeNull();
    expect(screen.getByRole('button', { name: 'Full screen' })).toBeVisible();
  });

  it('labels edges with partitioning and throughput', async () => {
    await renderJob(1);
    const region = await graph();
    expect(await within(region).findByText('hash origin, dest', { selector: 'text' })).toBeInTheDocument();
    await waitFor(() => expect(within(region).getAllByText(/^\d+(\.\d)? k\/s$/).length).toBeGreaterThan(0));
  });

  it('opens the subtasks of a selected chain and closes them again', async () => {
    const { user } = await renderJob(1);
    // Do not use `user.click`, because `user.click` also starts to pan the graph and jsdom does not support panning.
    fireEvent.click(within(await node(/^by_carrier, /)).getByText('by_carrier'));
    const side = await screen.findByRole('complementary', { name: 'by_carrier' });
    expect(within(side).getAllByRole('row')).toHaveLength(5);
    expect(within(side).getByText(/stateful/)).toBeVisible();
    await waitFor(() => expect(within(side).getAllByRole('img', { name: /^busy \d+ %, backpressured/ })).toHaveLength(4));
    await user.click(within(side).getByRole('button', { name: 'Close' }));
    expect(screen.queryByRole('complementary')).toBeNull();
    expect(await node(/^by_carrier, /)).toHaveFocus();
  });

  it('shows the number of exceptions and links to them', async () => {
    const { fake, user } = await renderJob(4);
    const failures = fake.installation.find(4)!.failures.length;
    expect(failures).toBeGreaterThan(0);
    await user.click(await within(await screen.findByRole('region', { name: 'Job summary' })).findByRole('link', { name: String(failures) }));
    expect(await screen.findByRole('heading', { name: 'Exceptions' })).toBeVisible();
  });

  it('opens the subtasks of a chain with the keyboard', async () => {
    const { user } = await renderJob(1);
    (await node(/^by_carrier, /)).focus();
    await user.keyboard('{Enter}');
    expect(await screen.findByRole('complementary', { name: 'by_carrier' })).toBeVisible();
  });

  it('shows the barriers, the blocking subtask and the completion of a pending checkpoint', async () => {
    const rendered = await renderJob(1);
    await node(/^flights → parse/);
    await pass(rendered, 7_000);
    await waitFor(() => expect(statusLine()).toHaveTextContent(/in progress.*0 of 24 acknowledged after .*no subtask has acknowledged yet/));
    expect(cells()).toMatch(/^0+$/);
    await pass(rendered, 1_000);
    await waitFor(() => expect(statusLine()).toHaveTextContent(/[1-9]\d* of 24 acknowledged.*for \d/));
    expect(cells()).toMatch(/3/);
    expect(cells()).toMatch(/[12]/);
    await waitFor(() => expect(statusLine()).toHaveTextContent(/queued behind records|writing its state|has not acknowledged/));
    await pass(rendered, 60_000);
    await waitFor(() => expect(statusLine()).toHaveTextContent(/completed.*in \d/));
    expect(cells()).toMatch(/^3+$/);
  });

  it('replays a stored checkpoint, seeks in it, and returns to the live view', async () => {
    const { user } = await renderJob(1);
    await user.click(await screen.findByRole('button', { name: 'Replay last checkpoint' }));
    const controls = await screen.findByRole('group', { name: 'Replay' });
    expect(statusLine()).toHaveTextContent(/Checkpoint 60 replay/);
    expect(globalThis.location.search).toMatch(/^\?replay=\d+$/);

    await user.click(within(controls).getByRole('button', { name: 'Pause' }));
    const slider = within(controls).getByRole('slider', { name: 'Time since trigger' });
    slider.focus();
    await user.keyboard('{End}');
    await waitFor(() => expect(cells()).toMatch(/^3+$/));
    await user.keyboard('{Home}');
    await waitFor(() => expect(cells()).not.toMatch(/3/));
    await user.keyboard('{PageUp}{PageUp}{PageUp}{PageUp}');
    await waitFor(() => expect(statusLine()).toHaveTextContent(/of 24 acknowledged after/));

    await user.click(within(controls).getByRole('button', { name: 'Back to live view' }));
    expect(screen.queryByRole('group', { name: 'Replay' })).toBeNull();
    expect(globalThis.location.search).toBe('');
    expect(screen.getByRole('heading', { name: 'Graph' })).toHaveFocus();
  });

  it('replays any stored checkpoint by its number', async () => {
    const { user } = await renderJob(1);
    await user.type(await screen.findByRole('combobox', { name: 'Replay checkpoint' }), '3');
    await user.click(await screen.findByRole('option', { name: /^3, / }));
    await waitFor(() => expect(statusLine()).toHaveTextContent('Checkpoint 3 replay'));
  });

  it('replays a failed checkpoint from its acknowledgements, and shows that its steps are inferred', async () => {
    const { user } = await renderJob(1);
    await user.type(await screen.findByRole('combobox', { name: 'Replay checkpoint' }), '51');
    await user.click(await screen.findByRole('option', { name: /^51, failed/ }));
    await waitFor(() => expect(statusLine()).toHaveTextContent(/The steps are inferred from acknowledgements/));
  });

  it('shows an error if the checkpoint in the URL does not exist', async () => {
    await renderJob(1, '?replay=999999');
    expect(await screen.findByText(/Checkpoint 999999 does not exist/)).toBeVisible();
    expect(await node(/^flights → parse/)).toBeInTheDocument();
  });

  it('shows the graph of a stopped job without metrics', async () => {
    await renderJob(7);
    const source = await node(/^in → clean, /);
    expect(within(source).getByText('– → –')).toBeInTheDocument();
    expect(statusLine()).toHaveTextContent(/^The job is not running\. Its last checkpoint, \d+, completed in \d.* s, 3 d ago\.$/);
  });

  it('shows the last completed checkpoint until the stream reports a new checkpoint', async () => {
    await renderJob(1);
    await node(/^flights → parse/);
    expect(statusLine()).toHaveTextContent(/^Checkpoint 60 completed in \d.* s, \d+ s ago/);
    expect(screen.queryByText('Barrier:')).toBeNull();
    expect(screen.getAllByRole('img', { name: '4 subtasks' }).length).toBeGreaterThan(0);
  });

  it('shows the legend of barriers as soon as a checkpoint starts', async () => {
    const rendered = await renderJob(1);
    await node(/^flights → parse/);
    await pass(rendered, 7_000);
    expect(await screen.findByText('Barrier:')).toBeInTheDocument();
    expect(screen.getByText('Channel:')).toBeInTheDocument();
  });

  it('shows no replay button if no checkpoint can be replayed', async () => {
    await renderJob(9);
    await node(/^in → clean, /);
    expect(statusLine()).toHaveTextContent('The job is not running and has no completed checkpoint.');
    expect(screen.queryByRole('button', { name: 'Replay last checkpoint' })).toBeNull();
    expect(screen.queryByRole('combobox', { name: 'Replay checkpoint' })).toBeNull();
  });
});
