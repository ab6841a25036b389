import { renderHook } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { setTransport } from '../api/transport';
import { nextLine, opening, type Line } from './line';
import { HIDDEN_MS, useFollowed } from './useFollowed';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const settle = async (ms = 0): Promise<void> => {
  for (let turn = 0; turn < 4; turn += 1) await vi.advanceTimersByTimeAsync(turn === 0 ? ms : 20);
};

function show(state: 'visible' | 'hidden'): void {
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue(state);
  document.dispatchEvent(new Event('visibilitychange'));
}

interface Known {
  line: Line;
  told: string[];
}

const begin = (nowMs: number): Known => ({ line: opening(nowMs), told: [] });
function next(known: Known, news: Parameters<Parameters<typeof useFollowed<Known>>[2]>[1]): Known {
  if (news.type !== 'messages') return { ...known, line: nextLine(known.line, news) };
  const line = nextLine(known.line, { type: 'heard', nowMs: news.nowMs, what: 'standing', entries: 0 });
  return { line, told: [...known.told, ...news.messages.map(({ data }) => data)] };
}

/** A page that follows a server whose streams the test writes. */
function page() {
  const asked: (string | null)[] = [];
  const open: ReadableStreamDefaultController<Uint8Array>[] = [];
  const server = { away: false };
  onTestFinished(
    setTransport(async (request) => {
      asked.push(request.headers.get('Last-Event-ID'));
      if (server.away) throw new TypeError('Failed to fetch');
      return new Response(new ReadableStream<Uint8Array>({ start: (own) => void open.push(own) }));
    }),
  );
  const { result, unmount } = renderHook(() => useFollowed('/api/v1/stream', begin, next));
  onTestFinished(unmount);
  const lines: string[] = [];
  result.current.subscribe(() => void lines.push(result.current.get().line.is));
  return { asked, open, server, lines, known: () => result.current.get(), unmount };
}

describe('a page that nobody looks at', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('gives its line back, and goes on where it was without a word of an outage', async () => {
    const { asked, open, lines, known } = page();
    await settle();
    open[0]!.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await settle();
    expect(known()).toMatchObject({ line: { is: 'live' }, told: ['5'] });

    show('hidden');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    show('visible');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    expect(asked).toEqual([null]);

    show('hidden');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await settle(HIDDEN_MS / 2);
    expect(known().line.is).toBe('resting');
    show('visible');
    await settle();
    expect(asked).toEqual([null, '5']);
    open[1]!.enqueue(bytes('event: event\ndata: 6\nid: 6\n\n'));
    await settle();
    expect(known()).toMatchObject({ line: { is: 'live' }, told: ['5', '6'] });
    expect(lines).toContain('catching-up');
    expect(lines).not.toContain('broken');
  });

  it('is told of an outage when it is looked at again and nobody answers', async () => {
    const { open, server, known } = page();
    await settle();
    show('hidden');
    await settle(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await settle();
    const { heardAtMs } = known().line as Extract<Line, { is: 'live' }>;
    await settle(HIDDEN_MS / 2);
    server.away = true;
    expect(known().line).toEqual({ is: 'resting', heardAtMs });
    show('visible');
    await settle();
    expect(known().line).toMatchObject({ is: 'broken', heardAtMs, why: 'the control plane does not answer' });
  });

  it('knows what was heard just before it gave its line back: that is not told again', async () => {
    const { asked, open, known } = page();
    await settle();
    // What is hidden has no frames.
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    show('hidden');
    await vi.advanceTimersByTimeAsync(HIDDEN_MS / 2);
    open[0]!.enqueue(bytes(': still there\n\n'));
    await vi.advanceTimersByTimeAsync(HIDDEN_MS / 2 - 20);
    open[0]!.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await vi.advanceTimersByTimeAsync(10);
    expect(known().told, 'gathered still').toEqual([]);
    await vi.advanceTimersByTimeAsync(10);
    frames.mockRestore();
    expect(known()).toMatchObject({ line: { is: 'resting' }, told: ['5'] });
    show('visible');
    await settle();
    expect(asked).toEqual([null, '5']);
  });

  it('is told nothing more once it is left', async () => {
    const { open, known, unmount } = page();
    await settle();
    const frames = vi.spyOn(globalThis, 'requestAnimationFrame').mockReturnValue(0);
    open[0]!.enqueue(bytes('data: 5\n\n'));
    await vi.advanceTimersByTimeAsync(10);
    frames.mockRestore();
    const before = known();
    unmount();
    await settle(HIDDEN_MS);
    expect(known()).toBe(before);
    expect(before.told).toEqual([]);
  });
});
