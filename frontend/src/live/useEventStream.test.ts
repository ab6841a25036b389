import { renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { setTransport } from '../api/transport';
import { nextConnectionState, connecting, type ConnectionState } from './connectionState';
import { HIDDEN_MS, useEventStream } from './useEventStream';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const settle = async (ms = 0): Promise<void> => {
  for (let turn = 0; turn < 4; turn += 1) await vi.advanceTimersByTimeAsync(turn === 0 ? ms : 20);
};

function show(state: 'visible' | 'hidden'): void {
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue(state);
  document.dispatchEvent(new Event('visibilitychange'));
}

interface TestState {
  connection: ConnectionState;
  received: string[];
}

const initial = (nowMs: number): TestState => ({ connection: connecting(nowMs), received: [] });
function reduce(state: TestState, update: Parameters<Parameters<typeof useEventStream<TestState>>[2]>[1]): TestState {
  if (update.type !== 'messages') return { ...state, connection: nextConnectionState(state.connection, update) };
  const connection = nextConnectionState(state.connection, { type: 'received', nowMs: update.nowMs, what: 'state', entries: 0 });
  return { connection, received: [...state.received, ...update.messages.map(({ data }) => data)] };
}

/** Render a component that subscribes to a fake server. The test controls the streams of this server. */
function page() {
  const requestedIds: (string | null)[] = [];
  const open: ReadableStreamDefaultController<Uint8Array>[] = [];
  const server = { unreachable: false };
  onTestFinished(
    setTransport(async (request) => {
      requestedIds.push(request.headers.get('Last-Event-ID'));
      if (server.unreachable) throw new TypeError('Failed to fetch');
      return new Response(new ReadableStream<Uint8Array>({ start: (own) => void open.push(own) }));
    }),
  );
  const { result, unmount } = renderHook(() => useEventStream('/api/v1/stream', initial, reduce));
  onTestFinished(unmount);
  const statuses: string[] = [];
  result.current.subscribe(() => void statuses.push(result.current.get().connection.status));
  return { requestedIds, open, server, statuses, state: () => result.current.get(), unmount };
}

describe('useEventStream', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('closes the stream of a hidden page after a delay, and resumes the stream later without reporting an outage', async () => {
    const { requestedIds, open, statuses, state } = page();
    await settle();
    open[0]!.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await settle();
    expect(state()).toMatchObject({ connection: { status: 'live' }, received: ['5'] });

    show('hidden');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    show('visible');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    expect(requestedIds).toEqual([null]);

    show('hidden');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await settle(HIDDEN_MS / 2);
    expect(state().connection.status).toBe('paused');
    show('visible');
    await settle();
    expect(requestedIds).toEqual([null, '5']);
    open[1]!.enqueue(bytes('event: event\ndata: 6\nid: 6\n\n'));
    await settle();
    expect(state()).toMatchObject({ connection: { status: 'live' }, received: ['5', '6'] });
    expect(statuses).toContain('catching-up');
    expect(statuses).not.toContain('disconnected');
  });

  it('reports an outage if the stream cannot be reopened', async () => {
    const { open, server, state } = page();
    await settle();
    show('hidden');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await settle();
    const { heardAtMs } = state().connection as Extract<ConnectionState, { status: 'live' }>;
    await settle(HIDDEN_MS / 2);
    server.unreachable = true;
    expect(state().connection).toEqual({ status: 'paused', heardAtMs });
    show('visible');
    await settle();
    expect(state().connection).toMatchObject({ status: 'disconnected', heardAtMs, reason: 'The API does not respond' });
  });

  it('delivers messages that arrived just before the stream was closed', async () => {
    const { requestedIds, open, state } = page();
    await settle();
    // The browser draws no frames of a hidden page.
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    show('hidden');
    await vi.advanceTimersByTimeAsync(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await vi.advanceTimersByTimeAsync(HIDDEN_MS / 2 - 20);
    open[0]!.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await vi.advanceTimersByTimeAsync(10);
    expect(state().received, 'still in the batch').toEqual([]);
    await vi.advanceTimersByTimeAsync(10);
    frames.mockRestore();
    expect(state()).toMatchObject({ connection: { status: 'paused' }, received: ['5'] });
    show('visible');
    await settle();
    expect(requestedIds).toEqual([null, '5']);
  });

  it('delivers no messages after the component is unmounted', async () => {
    const { open, state, unmount } = page();
    await settle();
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    open[0]!.enqueue(bytes('data: 5\n\n'));
    await vi.advanceTimersByTimeAsync(10);
    frames.mockRestore();
    const before = state();
    unmount();
    await settle(HIDDEN_MS);
    expect(state()).toBe(before);
    expect(before.received).toEqual([]);
  });
});
