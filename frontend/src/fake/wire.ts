/**
 * `fetch` across a line of messages: the invented installation lives in a worker, as the real one lives elsewhere. So what it computes takes no
 * time from the page, and what the page does can be measured.
 */
import type { Transport } from '../api/transport';

type Asked = { type: 'ask'; id: number; url: string; method: string; headers: [string, string][]; body: ArrayBuffer | null } | { type: 'leave'; id: number };
type Told = { type: 'answer'; id: number; status: number; headers: [string, string][]; body: ReadableStream<Uint8Array> | ArrayBuffer | null } | { type: 'failed'; id: number; why: string };

/** A worker, its inside, or one end of a MessageChannel. */
export interface Port {
  postMessage: (message: unknown, options: { transfer: Transferable[] }) => void;
  addEventListener: (type: 'message', listener: (event: MessageEvent) => void) => void;
}

const STREAM = 'text/event-stream';
/** Which may not have a body, not even an empty one. */
const BODILESS = new Set([204, 205, 304]);

/** The page's end. Requests that nobody waits for any more are given up at the other one. */
export function askOver(port: Port): Transport {
  const waiting = new Map<number, { resolve: (response: Response) => void; reject: (reason: unknown) => void }>();
  let asked = 0;
  port.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.type === 'answer') one?.resolve(new Response(BODILESS.has(data.status) ? null : data.body, { status: data.status, headers: data.headers }));
    else one?.reject(new TypeError(data.why));
  });
  return async (request) => {
    const id = (asked += 1);
    const body = request.method === 'GET' || request.method === 'HEAD' ? null : await request.arrayBuffer();
    request.signal.throwIfAborted();
    return new Promise<Response>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      request.signal.addEventListener('abort', () => {
        waiting.delete(id);
        port.postMessage({ type: 'leave', id } satisfies Asked, { transfer: [] });
        reject(request.signal.reason as Error);
      });
      const ask: Asked = { type: 'ask', id, url: request.url, method: request.method, headers: [...request.headers], body };
      port.postMessage(ask, { transfer: body === null ? [] : [body] });
    });
  };
}

/** The other end: each request is given to `answer`. Streams are handed over as such, everything else whole. */
export function answerOver(port: Port, answer: Transport): void {
  const open = new Map<number, AbortController>();
  const tell = (told: Told, transfer: Transferable[] = []): void => port.postMessage(told, { transfer });
  const take = async (asked: Extract<Asked, { type: 'ask' }>): Promise<void> => {
    const { id, url, method, headers, body } = asked;
    const over = new AbortController();
    open.set(id, over);
    try {
      const response = await answer(new Request(url, { method, headers, body, signal: over.signal }));
      const streams = response.headers.get('Content-Type') === STREAM;
      const told = streams ? response.body! : await response.arrayBuffer();
      tell({ type: 'answer', id, status: response.status, headers: [...response.headers], body: told }, [told]);
      // Whoever leaves a stream cancels it.
      open.delete(id);
    } catch (error) {
      open.delete(id);
      tell({ type: 'failed', id, why: error instanceof Error ? error.message : 'Failed to fetch' });
    }
  };
  port.addEventListener('message', ({ data }: MessageEvent<Asked>) => {
    if (data.type === 'ask') void take(data);
    else if (data.type === 'leave') open.get(data.id)?.abort();
  });
}
