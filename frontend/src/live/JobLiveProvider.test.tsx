import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { setTransport } from '../api/transport';
import { JobLiveProvider } from './JobLiveProvider';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const KEYS = [['failures', 'getList', {}], ['events', 'getList', {}], ['job', 7, 'graph', 3]];

describe('JobLiveProvider', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('the queries of a job become stale when the stream is opened or reopened', async () => {
    const open: ReadableStreamDefaultController<Uint8Array>[] = [];
    onTestFinished(setTransport(async () => new Response(new ReadableStream<Uint8Array>({ start: (own) => void open.push(own) }))));
    const queries = new QueryClient();
    for (const key of KEYS) queries.setQueryData(key, 'shown');
    const stale = (): unknown[] => KEYS.filter((key) => queries.getQueryState(key)!.isInvalidated);
    render(<QueryClientProvider client={queries}><JobLiveProvider jobId={7}>{null}</JobLiveProvider></QueryClientProvider>);
    expect(stale()).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(stale()).toEqual(KEYS);

    for (const key of KEYS) queries.setQueryData(key, 'shown again');
    open[0]!.error(new Error('reset'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(open).toHaveLength(2);
    expect(stale()).toEqual([]);
    open[1]!.enqueue(bytes('event: run\ndata: {"id": 3, "ended_at": null}\n\n'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(stale()).toEqual(KEYS);
  });
});
