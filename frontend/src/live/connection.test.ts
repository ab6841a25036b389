import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { onSessionOver, setTransport } from '../api/transport';
import { follow, SILENCE_MS, waitMs, WAIT_MS_MAX } from './connection';

/** A server whose streams the test writes. */
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

  /** The next request gets this stream. */
  willStream(): ReadableStreamDefaultController<Uint8Array> {
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own) });
    this.#answers.push(() => new Response(body));
    return controller!;
  }

  willAnswer(status: number): void {
    this.#answers.push(() => Response.json({ code: 'x', detail: 'there is no job 7' }, { status }));
  }
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function followed(path = '/api/v1/stream') {
  const seen: string[] = [];
  const end = follow(path, {
    onOpen: () => seen.push('open'),
    onHeard: (messages) => seen.push(`heard ${messages.map(({ data }) => data).join()}`),
    onBroken: ({ code }, againInMs) => seen.push(`broken ${code}, again in ${againInMs}`),
    onRefused: ({ detail }) => seen.push(`refused: ${detail}`),
  });
  onTestFinished(end);
  return { seen, end };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0).then(() => vi.advanceTimersByTimeAsync(0));

describe('following a stream', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.spyOn(Math, 'random').mockReturnValue(1);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('comes again with the last id after the line is broken, and waits longer each time nobody answers', async () => {
    const server = new Server();
    const first = server.willStream();
    const { seen } = followed();
    await settle();
    first.enqueue(bytes('event: event\ndata: 5\nid: 5\n\n'));
    await settle();
    first.error(new Error('reset'));
    await settle();
    expect(seen).toEqual(['open', 'heard 5', 'broken broken, again in 500']);

    await vi.advanceTimersByTimeAsync(500);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen.slice(3)).toEqual(['broken unreachable, again in 1000', 'broken unreachable, again in 2000']);

    const second = server.willStream();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(server.asked.at(-1)!.headers.get('Last-Event-ID')).toBe('5');
    expect(server.asked[0]!.headers.get('Last-Event-ID')).toBeNull();
    second.enqueue(bytes('data: 6\nid: 6\n\n'));
    await settle();
    second.error(new Error('reset'));
    await settle();
    expect(seen.at(-1), 'after a word of the server it begins with short waits again').toBe('broken broken, again in 500');
  });

  it('asks again at once when the server ends the stream, as it does every some minutes', async () => {
    const server = new Server();
    const first = server.willStream();
    const { seen } = followed();
    await settle();
    first.enqueue(bytes('data: 1\n\n'));
    await settle();
    server.willStream();
    first.close();
    await settle();
    expect(seen).toEqual(['open', 'heard 1', 'broken ended, again in 0', 'open']);
  });

  it('takes silence for a broken line', async () => {
    const server = new Server();
    const stream = server.willStream();
    const { seen } = followed();
    await settle();
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    stream.enqueue(bytes(': \n\n'));
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1);
    expect(seen).toEqual(['open', 'heard ']);
    await vi.advanceTimersByTimeAsync(2);
    expect(seen.at(-1)).toBe('broken silent, again in 500');
  });

  it('does not come again where there is nothing, or when the session is over', async () => {
    const server = new Server();
    server.willAnswer(404);
    const { seen } = followed();
    await settle();
    await vi.advanceTimersByTimeAsync(WAIT_MS_MAX);
    expect(seen).toEqual(['refused: there is no job 7']);

    const over = vi.fn();
    onTestFinished(onSessionOver(over));
    server.willAnswer(401);
    followed();
    await settle();
    expect(over).toHaveBeenCalledOnce();
    expect(server.asked).toHaveLength(2);
  });

  it('ends when nobody wants it any more', async () => {
    const server = new Server();
    server.willStream();
    const { seen, end } = followed();
    await settle();
    end();
    await vi.advanceTimersByTimeAsync(WAIT_MS_MAX);
    expect(seen).toEqual(['open']);
    expect(server.asked).toHaveLength(1);
  });

  it('waits half of it at least, and never longer than the most', () => {
    expect([1, 2, 3].map((tries) => waitMs(tries, 1))).toEqual([500, 1000, 2000]);
    expect(waitMs(1, 0)).toBe(250);
    expect(waitMs(50, 1)).toBe(WAIT_MS_MAX);
  });
});
