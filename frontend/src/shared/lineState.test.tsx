import { act, render, screen } from '@testing-library/react';
import { expect, it, onTestFinished, vi } from 'vitest';

import { heardDate } from '../api/serverClock';
import { setTransport } from '../api/transport';
import { nextJobs, unknownJobs } from '../live/jobsLive';
import type { Line } from '../live/line';
import { useStore } from '../live/store';
import { useFollowed } from '../live/useFollowed';
import { LineBanner, LineMark } from './LineState';

it('says how old what is shown is, and when it is tried again', () => {
  const now = Date.now();
  const { container } = render(<LineBanner line={{ is: 'broken', heardAtMs: now - 72_000, why: 'the control plane does not answer', againAtMs: now + 8_000 }} />);
  expect(container).toHaveTextContent(/does not answer; jobs go on without it\. What you see is 1 min 1\d s old\. Trying again in \d/);
});

it('announces an outage once, and not each second how long it lasts', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const now = Date.now();
  const { container } = render(<LineBanner line={{ is: 'broken', heardAtMs: now - 12_000, why: 'the control plane does not answer', againAtMs: now + 20_000 }} />);
  const announced = [];
  const shown = [];
  for (let second = 0; second < 5; second += 1) {
    await act(async () => void (await vi.advanceTimersByTimeAsync(1_000)));
    announced.push([...container.querySelectorAll('[role=status], [role=alert], [aria-live]')].map(({ textContent }) => textContent));
    shown.push(container.textContent);
  }
  expect(new Set(shown).size).toBe(5);
  expect(announced).toEqual(Array(5).fill(['Out of reach: the control plane does not answer; jobs go on without it.']));
});

it('makes no fuss of a line that is only just broken', () => {
  render(<LineBanner line={{ is: 'broken', heardAtMs: Date.now() - 500, why: 'x', againAtMs: Date.now() }} />);
  expect(screen.queryByRole('status')).toBeNull();
});

it('says what it is doing', () => {
  render(<LineMark line={{ is: 'catching-up', heardAtMs: 0, sinceMs: 0, missed: 41 }} />);
  expect(screen.getByText('catching up: 41')).toBeVisible();
});

it('only connects again after a rest, however long that was', () => {
  const line: Line = { is: 'resting', heardAtMs: Date.now() - 720_000 };
  render(<><LineMark line={line} /><LineBanner line={line} /></>);
  expect(screen.getByText('connecting')).toBeVisible();
  expect(screen.queryByRole('status')).toBeNull();
  expect(screen.queryByText(/Out of reach/)).toBeNull();
});

function Followed() {
  const line = useStore(useFollowed('/api/v1/stream', unknownJobs, nextJobs), (jobs) => jobs.line);
  return <><LineMark line={line} /><LineBanner line={line} /></>;
}

it.each([300_000, -300_000])('knows how old it is where the clock of the browser is ahead by %d ms', async (aheadMs) => {
  vi.useFakeTimers();
  const setClock = (ms: number): void => heardDate(new Date(Date.now() - ms).toUTCString(), Date.now());
  const open: ReadableStreamDefaultController<Uint8Array>[] = [];
  onTestFinished(() => {
    vi.useRealTimers();
    setClock(0);
  });
  onTestFinished(
    setTransport(async () => {
      if (open.length > 0) throw new TypeError('Failed to fetch');
      return new Response(new ReadableStream<Uint8Array>({ start: (own) => void open.push(own) }));
    }),
  );
  const pass = (ms: number): Promise<void> => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));

  setClock(aheadMs);
  render(<Followed />);
  await pass(500);
  expect(screen.getByText('updates live')).toBeVisible();
  open[0]!.error(new Error('reset'));
  await pass(1_000);
  expect(screen.queryByText(/Out of reach/)).toBeNull();
  await pass(11_000);
  expect(screen.getByText(/What you see is 1[12](\.\d)? s old/)).toBeVisible();
  expect(screen.getByText(/^last heard 1[12](\.\d)? s ago$/)).toBeVisible();
});
