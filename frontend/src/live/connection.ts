/**
 * Following a stream of server-sent events for as long as somebody wants it: comes again where it was, waits longer each time nobody
 * answers, and takes silence for a broken line. By fetch and not EventSource, which hides why it failed and cannot be told to stop trying.
 */
import { ApiProblem, problemOf } from '../api/problem';
import { address, send, sessionIsOver } from '../api/transport';
import { SseParser, type ServerMessage } from './sse';

/** The server says something every 15 s, if only that it is there. */
export const SILENCE_MS = 40_000;
export const FIRST_WAIT_MS = 500;
export const WAIT_MS_MAX = 30_000;

export interface Follower {
  /** The stream has begun (again). */
  onOpen(): void;
  /** At least one sign of life; the messages that are complete with it, none if it was a comment. */
  onHeard(messages: ServerMessage[]): void;
  /** Nothing comes any more; it is tried again after so long. */
  onBroken(problem: ApiProblem, againInMs: number): void;
  /** It makes no sense to come again: what is followed is gone, or not for us. */
  onRefused(problem: ApiProblem): void;
}

/** How long to wait before try number `tries`, from 1 on. `luck` from 0 to 1: a hundred browsers must not come at the same moment. */
export function waitMs(tries: number, luck: number): number {
  const full = Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (tries - 1));
  return full * (0.5 + 0.5 * luck);
}

const ENDED = new ApiProblem(0, 'ended', 'the stream has ended', '');
const SILENT = new ApiProblem(0, 'silent', `nothing was heard for ${SILENCE_MS / 1000} s`, '');

/** How far a stream was heard: whoever follows it again with the same place misses nothing. */
export interface Place {
  lastId: string | null;
}

/** Begins at once. Gives back what ends it. */
export function follow(path: string, follower: Follower, place: Place = { lastId: null }): () => void {
  const over = new AbortController();
  void run(path, follower, place, over.signal);
  return () => over.abort();
}

async function run(path: string, follower: Follower, place: Place, over: AbortSignal): Promise<void> {
  for (let tries = 1; !over.aborted; tries += 1) {
    let problem: ApiProblem;
    try {
      for await (const heard of read(path, place.lastId, over)) {
        if (heard === 'open') follower.onOpen();
        else {
          tries = 1;
          place.lastId = heard.lastId;
          follower.onHeard(heard.messages);
        }
      }
      problem = ENDED;
    } catch (error) {
      if (over.aborted) return;
      problem = error instanceof ApiProblem ? error : new ApiProblem(0, 'broken', 'the line is broken', '');
    }
    if (over.aborted) return;
    if (problem.status === 401) sessionIsOver(problem);
    if (problem.status >= 400 && problem.status < 500 && problem.status !== 429) {
      follower.onRefused(problem);
      return;
    }
    // The server ends each stream after some minutes: that is no failure, so it is asked again at once.
    const againInMs = problem === ENDED && tries === 1 ? 0 : waitMs(tries, Math.random());
    follower.onBroken(problem, againInMs);
    await pause(againInMs, over);
  }
}

async function* read(path: string, lastId: string | null, over: AbortSignal): AsyncGenerator<'open' | ReturnType<SseParser['push']>> {
  const line = new AbortController();
  const cut = (): void => line.abort();
  over.addEventListener('abort', cut, { once: true });
  const watch = new Watch(SILENCE_MS, cut);
  try {
    const headers = new Headers({ Accept: 'text/event-stream' });
    if (lastId !== null) headers.set('Last-Event-ID', lastId);
    const response = await send(new Request(address(path), { headers, signal: line.signal }));
    if (!response.ok) throw await problemOf(response);
    yield 'open';
    const parser = new SseParser(lastId);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    // Whether or not whoever sends the stream minds the signal: nothing is waited for any more.
    line.signal.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true });
    for (;;) {
      const { done, value } = await reader.read();
      if (watch.barked) throw SILENT;
      if (done) return;
      watch.again();
      yield parser.push(value);
    }
  } catch (error) {
    throw watch.barked ? SILENT : error;
  } finally {
    watch.end();
    over.removeEventListener('abort', cut);
    line.abort();
  }
}

class Watch {
  barked = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly afterMs: number,
    private readonly bark: () => void,
  ) {
    this.again();
  }

  again(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.barked = true;
      this.bark();
    }, this.afterMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      over.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    over.addEventListener('abort', end, { once: true });
  });
}
