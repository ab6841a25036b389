import { fireEvent, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';

import { setTransport } from '../../../api/transport';
import { Installation } from '../../../fake/installation';
import { logLine, writeLog } from '../../../fake/logs';
import { problem } from '../../../fake/routes';
import { iso, type FakeJob } from '../../../fake/model';
import { renderJob, type Rendered } from '../../../testing/render';

const AT = Date.parse('2026-11-22T04:00:00Z');

/** Return an installation in which the log of the newest run of job 1 contains only these lines. */
function installationWith(...lines: string[]): { installation: Installation; one: FakeJob; runId: number } {
  const installation = new Installation(Date.now());
  const one = installation.find(1)!;
  const runId = one.runs[0]!.id;
  one.logs.set(runId, lines.join(''));
  return { installation, one, runId };
}

const manyLines = (count: number, from = 0): string => Array.from({ length: count }, (_, at) => logLine(AT + (from + at) * 1_000, 'info', `step ${from + at}`)).join('');
const list = (): Promise<HTMLElement> => screen.findByRole('log', { name: 'Lines of the log' });
const search = (): URLSearchParams => new URLSearchParams(globalThis.location.search);
const logReads = ({ fake }: Rendered): string[] => fake.requests.map(({ url }) => new URL(url)).filter(({ pathname }) => pathname.endsWith('/log')).map((url) => `${url.pathname}${url.search}`);

/** Simulate that the user scrolls up, because jsdom has no layout. */
function scrollUp(scroller: HTMLElement): void {
  Object.defineProperties(scroller, { scrollHeight: { value: 1_000, configurable: true }, clientHeight: { value: 200, configurable: true } });
  scroller.scrollTop = 800;
  fireEvent.scroll(scroller);
  scroller.scrollTop = 500;
  fireEvent.scroll(scroller);
}

describe('the log of a run', () => {
  it('shows time, level, message and fields, and plain lines unchanged', async () => {
    const { installation } = installationWith(
      logLine(AT + 31, 'warning', 'slot lost', { slot: 2, reason: 'exit code 1' }), '  indented output of Spark: größer\n', logLine(AT, 'error', 'failed', { exception: 'Traceback:\n  line 1\nKeyError: 7' }),
    );
    const { user } = await renderJob(1, '/logs', { installation });
    const log = await list();
    expect(log).toHaveTextContent(/\d\d:\d\d:\d\d\.031warningslot lost slot=2 reason="exit code 1"/);
    expect(within(log).getByText('indented output of Spark: größer')).toBeVisible();
    expect(log).toHaveTextContent('failed KeyError: 7');
    expect(log).not.toHaveTextContent('line 1');
    await user.click(within(log).getByRole('button', { name: /^Details: .* failed$/ }));
    expect(log).toHaveTextContent('line 1');
    expect(log).toHaveAttribute('aria-live', 'off');
  });

  it('follows new lines until the user pauses, and resumes', async () => {
    const { installation, one, runId } = installationWith(manyLines(3));
    const { user } = await renderJob(1, '/logs', { installation });
    const log = await list();
    expect(screen.getByRole('switch', { name: 'Follow' })).toBeChecked();
    writeLog(one, runId, logLine(AT, 'info', 'a new line'));
    expect(await within(log).findByText('a new line')).toBeVisible();

    scrollUp(log);
    expect(screen.getByRole('switch', { name: 'Follow' })).not.toBeChecked();
    writeLog(one, runId, logLine(AT, 'info', 'the newest line'));
    await user.click(screen.getByRole('button', { name: 'Jump to end' }));
    expect(await within(log).findByText('the newest line')).toBeVisible();
    expect(screen.getByRole('switch', { name: 'Follow' })).toBeChecked();
  });

  it('stays at its end when the user pauses after an earlier pause', async () => {
    const { installation } = installationWith(manyLines(1_000));
    const { user } = await renderJob(1, '/logs', { installation });
    const log = await list();
    scrollUp(log);
    const follow = screen.getByRole('switch', { name: 'Follow' });
    await user.click(follow);
    await user.click(follow);
    expect(follow).not.toBeChecked();
    expect(within(log).getByText('step 999')).toBeVisible();
  });

  it('pauses when the user expands a line', async () => {
    const { installation } = installationWith(manyLines(3));
    const { user } = await renderJob(1, '/logs', { installation });
    await user.click(await screen.findByRole('button', { name: /step 1$/ }));
    expect(screen.getByRole('switch', { name: 'Follow' })).not.toBeChecked();
  });

  it('filters by level and text, and keeps the filters in the address', async () => {
    const { installation } = installationWith(logLine(AT, 'info', 'started', { host: 'Worker-3' }), logLine(AT, 'error', 'failed'), logLine(AT, 'warning', 'slow'), 'stack trace\n');
    const { user } = await renderJob(1, '/logs?level=warning', { installation });
    const log = await list();
    const shown = (): string[] => [...log.querySelectorAll('.text')].map(({ textContent }) => textContent);
    expect(shown()).toEqual(['failed', 'slow', 'stack trace']);
    expect(screen.getByText(/^3 of 4 loaded lines match.* match every level\.$/)).toBeVisible();

    await user.click(screen.getByRole('combobox', { name: 'Level' }));
    await user.click(screen.getByRole('option', { name: 'All' }));
    await user.type(screen.getByLabelText('Search'), 'WORKER');
    expect(await screen.findByText(/^1 of 4 loaded lines match/)).toBeVisible();
    expect(shown()).toEqual(['started host=Worker-3']);
    expect([...search()]).toEqual([['q', 'WORKER']]);
    expect(within(log).getByText('Worker').tagName).toBe('MARK');
    await user.clear(screen.getByLabelText('Search'));
    await user.type(screen.getByLabelText('Search'), 'no such text');
    expect(await screen.findByText('No matching lines')).toBeVisible();
  });

  it('shows the lines around a match', async () => {
    const { installation } = installationWith(manyLines(2_000));
    const { user } = await renderJob(1, '/logs?q=step+1000', { installation });
    const log = await list();
    await user.click(within(log).getByRole('button', { name: /step 1000$/ }));
    await user.click(within(log).getByRole('button', { name: 'Show surrounding lines' }));
    expect(await within(log).findByText('step 999')).toBeVisible();
    expect(within(log).getByText('step 1001')).toBeVisible();
    expect(within(log).getByRole('button', { name: /step 1000$/ })).toHaveFocus();
    expect(globalThis.location.search).toBe('');
    expect(screen.getByLabelText('Search')).toHaveValue('');
  });

  it('loads earlier lines in chunks, and renders only a part of the lines', async () => {
    const { installation } = installationWith(manyLines(5_000));
    const { user } = await renderJob(1, '/logs', { installation });
    const log = await list();
    expect(within(log).getByText('step 4999')).toBeVisible();
    expect(log.querySelectorAll('.line').length).toBeLessThan(500);
    expect(screen.getByText(/^3,\d\d\d lines loaded, \d+ kB of \d+ kB\.$/)).toBeVisible();
    await user.click(within(log).getByRole('button', { name: 'Load earlier lines' }));
    expect(await screen.findByText(/^5,000 lines loaded/)).toBeVisible();
    expect(screen.getByRole('switch', { name: 'Follow' })).not.toBeChecked();
  });

  it('of an earlier run can be selected, and its address can be shared', async () => {
    const { installation, one } = installationWith(manyLines(3));
    const [newest, first] = [one.runs[0]!, one.runs.at(-1)!];
    const { user } = await renderJob(1, '/logs', { installation });
    await list();
    await user.click(screen.getByRole('combobox', { name: 'Run' }));
    expect(screen.getByRole('option', { name: new RegExp(`^${newest.number}, running, started `), selected: true })).toBeVisible();
    await user.click(screen.getByRole('option', { name: /^1, failed, started / }));
    expect(await screen.findByText('starting the driver')).toBeVisible();
    expect(search().get('run')).toBe(String(first.id));
    expect(screen.queryByRole('switch', { name: 'Follow' })).toBeNull();
  });

  it('stays open when a new run starts', async () => {
    const { installation } = installationWith(manyLines(3));
    const { fake, user } = await renderJob(1, '/logs', { installation });
    await list();
    fake.installation.runOperation(fake.installation.find(1)!, 'suspend');
    fake.installation.runOperation(fake.installation.find(1)!, 'start');
    await user.click(await screen.findByRole('button', { name: /^Show run \d+$/ }));
    expect(await screen.findByText('starting the driver')).toBeVisible();
    expect(screen.queryByRole('button', { name: /^Show run/ })).toBeNull();
  });
});

describe('the log at the time of a failure', () => {
  it('is linked from the list of exceptions, and marks the first line of the failure', async () => {
    const { user } = await renderJob(1, '/exceptions');
    await user.click((await screen.findAllByRole('link', { name: 'View log' }))[0]!);
    const log = await list();
    const marked = log.querySelectorAll('[aria-current=true]');
    expect(marked).toHaveLength(1);
    expect(marked[0]).toHaveTextContent('executor killed by the cluster manager');
    expect(screen.getByText(/The marked line is the first line at or after /)).toBeVisible();
    expect(screen.getByRole('switch', { name: 'Follow' })).not.toBeChecked();

    await user.click(screen.getByRole('button', { name: 'Jump to end' }));
    expect(await screen.findByRole('switch', { name: 'Follow' })).toBeChecked();
    expect([...search().keys()]).toEqual(['run']);
  });

  it('is found in a long log', async () => {
    const { installation, runId } = installationWith(manyLines(50_000));
    const rendered = await renderJob(1, `/logs?run=${runId}&at=${iso(AT + 20_000_000)}`, { installation });
    const log = await list();
    expect(log.querySelector('[aria-current=true]')).toHaveTextContent('step 20000');
    expect(within(log).getByText('step 19990')).toBeVisible();
    expect(logReads(rendered).length).toBeLessThan(15);
  });

  it('says if the log contains no later line', async () => {
    const { installation, runId } = installationWith(manyLines(3));
    await renderJob(1, `/logs?run=${runId}&at=${iso(AT + 9_000_000)}`, { installation });
    expect(await screen.findByText(/The log contains no lines at or after /)).toBeVisible();
    expect(within(await list()).getByText('step 2')).toBeVisible();
  });
});

describe('without lines, the page says why', () => {
  const refuse = ({ fake }: Rendered, response: () => Response): void =>
    void setTransport((request) => (request.url.includes('/log?') ? Promise.resolve(response()) : fake.handle(request)));

  it('if the job has no runs', async () => {
    const installation = new Installation(Date.now());
    Object.assign(installation.find(1)!, { runs: [] });
    installation.find(1)!.job.run = null;
    await renderJob(1, '/logs', { installation });
    expect(await screen.findByText('No runs yet')).toBeVisible();
  });

  it('if the driver has not written anything', async () => {
    const { installation } = installationWith();
    await renderJob(1, '/logs', { installation });
    expect(await screen.findByText('The driver has not written anything yet.')).toBeVisible();
  });

  it('if the log was deleted', async () => {
    const { installation, one } = installationWith();
    one.runs[0]!.files_cleared_at = '2026-11-20T00:00:00Z';
    const rendered = await renderJob(1, '/logs', { installation });
    expect(await screen.findByText('Log deleted')).toBeVisible();
    expect(screen.getByText(/was deleted on 2026-11-20\. Read the events/)).toBeVisible();
    expect(logReads(rendered)).toHaveLength(1);
  });

  it('if the log is on another host', async () => {
    const rendered = await renderJob(1, '/runs');
    refuse(rendered, () => problem(409, 'log-on-other-host', 'The log of run 4 is on the host of its driver, not on the host of the API.', 'Read /data/driver.log on the host of the driver.'));
    await rendered.user.click(screen.getByRole('tab', { name: 'Logs' }));
    expect(await screen.findByText('Log on another host')).toBeVisible();
    expect(screen.getByText(/Read \/data\/driver\.log on the host/)).toBeVisible();
  });

  it('if the run does not exist', async () => {
    await renderJob(1, '/logs?run=999999');
    expect(await screen.findByText('No such run')).toBeVisible();
  });
});

it('the page keeps the lines of the log and retries while the API is unreachable', async () => {
  const { installation, one, runId } = installationWith(manyLines(3));
  const { fake } = await renderJob(1, '/logs', { installation });
  const log = await list();
  fake.unreachable = true;
  expect(await screen.findByText(/^Cannot load new lines\. The page retries every 1\.5 s\. The API does not respond/)).toBeVisible();
  expect(within(log).getByText('step 2')).toBeVisible();
  writeLog(one, runId, logLine(AT, 'info', 'written meanwhile'));
  fake.unreachable = false;
  expect(await within(log).findByText('written meanwhile')).toBeVisible();
  expect(screen.queryByText(/^Cannot load new lines/)).toBeNull();
});

it('the page does not read the log while it is hidden', async () => {
  const { installation } = installationWith(manyLines(3));
  const rendered = await renderJob(1, '/logs', { installation });
  await list();
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  const before = logReads(rendered).length;
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  expect(logReads(rendered).length - before).toBeLessThanOrEqual(1);
});
