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

describe('a page that nobody looks at', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('gives its line back, says so, and goes on where it was', async () => {
    const asked: (string | null)[] = [];
    const open: ReadableStreamDefaultController<Uint8Array>[] = [];
    onTestFinished(
      setTransport(async (request) => {
        asked.push(request.headers.get('Last-Event-ID'));
        return new Response(new ReadableStream<Uint8Array>({ start: (own) => void open.push(own) }));
      }),
    );
    const lines: string[] = [];
    const { result, unmount } = renderHook(() =>
      useFollowed<Known>(
        '/api/v1/stream',
        (nowMs) => ({ line: opening(nowMs), told: [] }),
        (known, news) => {
          if (news.type === 'messages') {
            const line = nextLine(known.line, { type: 'heard', nowMs: news.nowMs, what: 'standing', entries: 0 });
            return { line, told: [...known.told, ...news.messages.map(({ data }) => data)] };
          }
          return { ...known, line: nextLine(known.line, news) };
        },
      ),
    );
    onTestFinished(unmount);
    result.current.subscribe(() => void lines.push(result.current.get().line.is));
    await settle();
    open[0]!.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await settle();
    expect(result.current.get()).toMatchObject({ line: { is: 'live' }, told: ['5'] });

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
    expect(result.current.get().line).toMatchObject({ is: 'broken', why: 'nobody was looking at this page' });
    show('visible');
    await settle();
    expect(asked).toEqual([null, '5']);
    open[1]!.enqueue(bytes('event: event\ndata: 6\nid: 6\n\n'));
    await settle();
    expect(result.current.get()).toMatchObject({ line: { is: 'live' }, told: ['5', '6'] });
    expect(lines).toContain('catching-up');
  });
});
