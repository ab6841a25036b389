import { act, render, screen } from '@testing-library/react';
import { expect, it, onTestFinished, vi } from 'vitest';

import { syncServerClock } from '../api/serverClock';
import { setTransport } from '../api/transport';
import { reduceJobs, initialJobs } from '../live/jobsLive';
import type { ConnectionState } from '../live/connectionState';
import { clock } from '../format';
import { useStore } from '../live/store';
import { useEventStream } from '../live/useEventStream';
import { ConnectionBanner, ConnectionStatus } from './ConnectionStatus';

it('the banner shows the age of the data and the time of the next attempt to connect', () => {
  const now = Date.now();
  const { container } = render(<ConnectionBanner connection={{ status: 'disconnected', heardAtMs: now - 72_000, reason: 'The API does not respond', retryAtMs: now + 8_000 }} />);
  expect(container).toHaveTextContent(/^API unreachable since [\d:]+\. Jobs continue to run without the API\. This data is 1 min 1\d s old\. +Retrying in \d/);
});

it('the banner announces an outage once to screen readers', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const now = Date.now();
  const { container } = render(<ConnectionBanner connection={{ status: 'disconnected', heardAtMs: now - 12_000, reason: 'The API does not respond', retryAtMs: now + 20_000 }} />);
  const announced = [];
  const shown = [];
  for (let second = 0; second < 5; second += 1) {
    await act(async () => void (await vi.advanceTimersByTimeAsync(1_000)));
    announced.push([...container.querySelectorAll('[role=status], [role=alert], [aria-live]')].map(({ textContent }) => textContent));
    shown.push(container.textContent);
  }
  expect(new Set(shown).size).toBe(5);
  expect(announced).toEqual(Array(5).fill([`API unreachable since ${clock(now - 12_000)}. Jobs continue to run without the API.`]));
});

it('the banner is not shown for a short outage', () => {
  render(<ConnectionBanner connection={{ status: 'disconnected', heardAtMs: Date.now() - 500, reason: 'x', retryAtMs: Date.now() }} />);
  expect(screen.queryByRole('status')).toBeNull();
});

it('the status counts missed events while the page is catching up', () => {
  render(<ConnectionStatus connection={{ status: 'catching-up', heardAtMs: 0, sinceMs: 0, missed: 41 }} />);
  expect(screen.getByText('catching up: 41')).toBeVisible();
});

it('a paused connection is not shown as an outage', () => {
  const connection: ConnectionState = { status: 'paused', heardAtMs: Date.now() - 720_000 };
  render(<><ConnectionStatus connection={connection} /><ConnectionBanner connection={connection} /></>);
  expect(screen.getByText('connecting')).toBeVisible();
  expect(screen.queryByRole('status')).toBeNull();
  expect(screen.queryByText(/API unreachable/)).toBeNull();
});

function LivePage() {
  const connection = useStore(useEventStream('/api/v1/stream', initialJobs, reduceJobs), (jobs) => jobs.connection);
  return <><ConnectionStatus connection={connection} /><ConnectionBanner connection={connection} /></>;
}

it.each([300_000, -300_000])('the age of the data is correct if the browser clock is ahead by %d ms', async (aheadMs) => {
  vi.useFakeTimers();
  const setClock = (ms: number): void => syncServerClock(new Date(Date.now() - ms).toUTCString(), Date.now());
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
  render(<LivePage />);
  await pass(500);
  expect(screen.getByText('updates live')).toBeVisible();
  open[0]!.error(new Error('reset'));
  await pass(1_000);
  expect(screen.queryByText(/API unreachable/)).toBeNull();
  await pass(11_000);
  expect(screen.getByText(/This data is 1[12](\.\d)? s old/)).toBeVisible();
  expect(screen.getByText(/^last update 1[12](\.\d)? s ago$/)).toBeVisible();
});
