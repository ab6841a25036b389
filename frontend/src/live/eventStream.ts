/**
 * Subscribes to a stream of server-sent events. A lost stream is resumed after the last event. While the API does not respond, the delay
 * between attempts grows. A stream without bytes for `SILENCE_MS` is treated as lost. This module uses fetch, because EventSource hides errors and cannot stop retrying.
 */
import { ApiProblem, parseProblem } from '../api/problem';
import { absoluteUrl, send, notifySessionEnded } from '../api/transport';
import { SseParser, type ServerMessage } from './sseParser';

/** A stream that sends no bytes for this time is treated as lost. The server sends at least a keep-alive every 15 s. */
export const SILENCE_MS = 40_000;
const BACKOFF_MS_MIN = 500;
export const BACKOFF_MS_MAX = 30_000;

interface EventStreamHandlers {
  /** The stream was opened or reopened. */
  onOpen(): void;
  /** A chunk has arrived. `messages` contains the messages that the chunk completes, and is empty for a keep-alive. */
  onMessages(messages: ServerMessage[]): void;
  /** The connection was lost. The next attempt to reconnect starts after `retryInMs`. */
  onDisconnected(problem: ApiProblem, retryInMs: number): void;
  /** The API refused the stream, because the resource is deleted or the user has no permission for the resource. The stream is not reopened. */
  onRefused(problem: ApiProblem): void;
}

/** Return the delay before reconnection attempt number `attempt`, which starts at 1. `jitter`, from 0 to 1, spreads the attempts of many browsers. */
export function backoffMs(attempt: number, jitter: number): number {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1));
  return full * (0.5 + 0.5 * jitter);
}

const ENDED = new ApiProblem(0, 'ended', 'The stream has ended', '');
const SILENT = new ApiProblem(0, 'silent', `The API sent nothing for ${SILENCE_MS / 1000} s`, '');

/** The last received event. A stream that is reopened at its last position misses no event. */
export interface StreamPosition {
  lastId: string | null;
}

/** Open the stream. Returns a function that closes the stream. */
export function openEventStream(path: string, handlers: EventStreamHandlers, position: StreamPosition = { lastId: null }): () => void {
  const closed = new AbortController();
  void run(path, handlers, position, closed.signal);
  return () => closed.abort();
}

async function run(path: string, handlers: EventStreamHandlers, position: StreamPosition, closed: AbortSignal): Promise<void> {
  for (let attempt = 1; !closed.aborted; attempt += 1) {
    let problem: ApiProblem;
    try {
      for await (const chunk of read(path, position.lastId, closed)) {
        if (chunk === 'open') handlers.onOpen();
        else {
          attempt = 1;
          position.lastId = chunk.lastId;
          handlers.onMessages(chunk.messages);
        }
      }
      problem = ENDED;
    } catch (error) {
      if (closed.aborted) return;
      problem = error instanceof ApiProblem ? error : new ApiProblem(0, 'disconnected', 'The connection was lost', '');
    }
    if (closed.aborted) return;
    if (problem.status === 401) notifySessionEnded(problem);
    if (problem.status >= 400 && problem.status < 500 && problem.status !== 429) {
      handlers.onRefused(problem);
      return;
    }
    // The server ends each stream after some minutes. A regular end of the stream is not a failure, so reopen the stream immediately.
    const retryInMs = problem === ENDED && attempt === 1 ? 0 : backoffMs(attempt, Math.random());
    handlers.onDisconnected(problem, retryInMs);
    await pause(retryInMs, closed);
  }
}

async function* read(path: string, lastId: string | null, closed: AbortSignal): AsyncGenerator<'open' | ReturnType<SseParser['push']>> {
  const request = new AbortController();
  const abort = (): void => request.abort();
  closed.addEventListener('abort', abort, { once: true });
  const silence = new SilenceTimer(SILENCE_MS, abort);
  try {
    const headers = new Headers({ Accept: 'text/event-stream' });
    if (lastId !== null) headers.set('Last-Event-ID', lastId);
    const response = await send(new Request(absoluteUrl(path), { headers, signal: request.signal }));
    if (!response.ok) throw await parseProblem(response);
    yield 'open';
    const parser = new SseParser(lastId);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    // Some transports ignore the abort signal, so cancel the reader as well.
    request.signal.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true });
    for (;;) {
      const { done, value } = await reader.read();
      if (silence.expired) throw SILENT;
      if (done) return;
      silence.restart();
      yield parser.push(value);
    }
  } catch (error) {
    throw silence.expired ? SILENT : error;
  } finally {
    silence.stop();
    closed.removeEventListener('abort', abort);
    request.abort();
  }
}

class SilenceTimer {
  expired = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly afterMs: number,
    private readonly onExpired: () => void,
  ) {
    this.restart();
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.onExpired();
    }, this.afterMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

function pause(ms: number, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      closed.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    closed.addEventListener('abort', end, { once: true });
  });
}
