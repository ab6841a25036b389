import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { onSessionEnded, setTransport } from '../api/transport';
import { openEventStream, SILENCE_MS, backoffMs, BACKOFF_MS_MAX } from './eventStream';

/** A fake server whose streams the test controls. */
class Server {
  readonly asked: Request[] = [];
  #answers: (() => Response)[] = [];

  constructor() {
    onTestFinished(
      setTransport(async (request) => {
        this.asked.push(request);
        const answer = this.#answers.shift();
        if (!answer) throw new TypeError('Failed to fetch');
        return answer();
      }),
    );
  }

  /** Return the stream that the next request will get. */
  willStream(): ReadableStreamDefaultController<Uint8Array> {
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own) });
    this.#answers.push(() => new Response(body));
    return controller!;
  }

  willAnswer(status: number): void {
    this.#answers.push(() => Response.json({ code: 'x', detail: 'There is no job 7.' }, { status }));
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function openStream(path = '/api/v1/stream') {
  const seen: string[] = [];
  const end = openEventStream(path, {
    onOpen: () => seen.push('open'),
    onMessages: (messages) => seen.push(`received ${messages.map(({ data }) => data).join()}`),
    onDisconnected: ({ code }, retryInMs) => seen.push(`disconnected ${code}, retry in ${retryInMs}`),
    onRefused: ({ detail }) => seen.push(`refused: ${detail}`),
  });
  onTestFinished(end);
  return { seen, end };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0).then(() => vi.advanceTimersByTimeAsync(0));

describe('an event stream', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('a lost stream is resumed after the last event, with a longer delay after each failed attempt', async () => {
    const server = new Server();
    const first = server.willStream();
    const { seen } = openStream();
    await settle();
    first.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await settle();
    first.error(new Error('reset'));
    await settle();
    expect(seen).toEqual(['open', 'received 5', 'disconnected disconnected, retry in 500']);

    await vi.advanceTimersByTimeAsync(500);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen.slice(3)).toEqual(['disconnected unreachable, retry in 1000', 'disconnected unreachable, retry in 2000']);

    const second = server.willStream();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(server.asked.at(-1)!.headers.get('Last-Event-ID')).toBe('5');
    expect(server.asked[0]!.headers.get('Last-Event-ID')).toBeNull();
    second.enqueue(bytes('data: 6\nid: 6\n\n'));
    await settle();
    second.error(new Error('reset'));
    await settle();
    expect(seen.at(-1), 'a message resets the backoff').toBe('disconnected disconnected, retry in 500');
  });

  it('a stream that the server ends is reopened immediately', async () => {
    const server = new Server();
    const first = server.willStream();
    const { seen } = openStream();
    await settle();
    first.enqueue(bytes('data: 1\n\n'));
    await settle();
    server.willStream();
    first.close();
    await settle();
    expect(seen).toEqual(['open', 'received 1', 'disconnected ended, retry in 0', 'open']);
  });

  it('a stream is reopened if no bytes arrive for a while', async () => {
    const server = new Server();
    const stream = server.willStream();
    const { seen } = openStream();
    await settle();
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    stream.enqueue(bytes(': \n\n'));
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    expect(seen).toEqual(['open', 'received ']);
    await vi.advanceTimersByTimeAsync(2);
    expect(seen.at(-1)).toBe('disconnected silent, retry in 500');
  });

  it('a stream is not reopened if the resource does not exist or the session has ended', async () => {
    const server = new Server();
    server.willAnswer(404);
    const { seen } = openStream();
    await settle();
    await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
    expect(seen).toEqual(['refused: There is no job 7.']);

    const sessionEnded = vi.fn();
    onTestFinished(onSessionEnded(sessionEnded));
    server.willAnswer(401);
    openStream();
    await settle();
    expect(sessionEnded).toHaveBeenCalledOnce();
    expect(server.asked).toHaveLength(2);
  });

  it('a stream that the page has closed is not reopened', async () => {
    const server = new Server();
    server.willStream();
    const { seen, end } = openStream();
    await settle();
    end();
    await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
    expect(seen).toEqual(['open']);
    expect(server.asked).toHaveLength(1);
  });

  it('a stream is reopened after at least half of the delay and at most the maximum delay', () => {
    expect([1, 2, 3].map((attempt) => backoffMs(attempt, 1))).toEqual([500, 1000, 2000]);
    expect(backoffMs(1, 0)).toBe(250);
    expect(backoffMs(50, 1)).toBe(BACKOFF_MS_MAX);
  });
});
