/** `fetch` over a message port. The fake installation runs in a worker, so that its computations do not distort measurements of the page. */
import type { Transport } from '../api/transport';

type PortRequest = { type: 'request'; id: number; url: string; method: string; headers: [string, string][]; body: ArrayBuffer | null } | { type: 'abort'; id: number };
type PortResponse = { type: 'response'; id: number; status: number; headers: [string, string][]; body: ReadableStream<Uint8Array> | ArrayBuffer | null } | { type: 'failed'; id: number; message: string };

/** One end of a message connection: a page's worker, the global scope inside the worker, or a port of a MessageChannel. */
export interface Port {
  postMessage: (message: unknown, options: { transfer: Transferable[] }) => void;
  addEventListener: (type: 'message', listener: (event: MessageEvent) => void) => void;
}

const STREAM = 'text/event-stream';
/** Statuses that must not have a body. */
const BODILESS = new Set([204, 205, 304]);

/** The page's end of the connection to the worker. Requests that the page aborts are also aborted in the worker. */
export function requestOverPort(port: Port): Transport {
  const waiting = new Map<number, { resolve: (response: Response) => void; reject: (reason: unknown) => void }>();
  let requests = 0;
  port.addEventListener('message', ({ data }: MessageEvent<PortResponse>) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.type === 'response') one?.resolve(new Response(BODILESS.has(data.status) ? null : data.body, { status: data.status, headers: data.headers }));
    else one?.reject(new TypeError(data.message));
  });
  return async (request) => {
    const id = (requests += 1);
    const body = request.method === 'GET' || request.method === 'HEAD' ? null : await request.arrayBuffer();
    request.signal.throwIfAborted();
    return new Promise<Response>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      request.signal.addEventListener('abort', () => {
        waiting.delete(id);
        port.postMessage({ type: 'abort', id } satisfies PortRequest, { transfer: [] });
        reject(request.signal.reason as Error);
      });
      const message: PortRequest = { type: 'request', id, url: request.url, method: request.method, headers: [...request.headers], body };
      port.postMessage(message, { transfer: body === null ? [] : [body] });
    });
  };
}

/**
 * The worker's end of the connection to the page. `answer` handles each request. The body of an event stream is passed to the page as a stream. A
 * body that is not an event stream is sent as one ArrayBuffer.
 */
export function serveOverPort(port: Port, answer: Transport): void {
  const open = new Map<number, AbortController>();
  const send = (message: PortResponse, transfer: Transferable[] = []): void => port.postMessage(message, { transfer });
  const handle = async ({ id, url, method, headers, body }: Extract<PortRequest, { type: 'request' }>): Promise<void> => {
    const aborter = new AbortController();
    open.set(id, aborter);
    try {
      const response = await answer(new Request(url, { method, headers, body, signal: aborter.signal }));
      const streams = response.headers.get('Content-Type') === STREAM;
      const content = streams ? response.body! : await response.arrayBuffer();
      send({ type: 'response', id, status: response.status, headers: [...response.headers], body: content }, [content]);
      // Once the page has the response, it cancels a stream by cancelling the response body, and sends no abort.
      open.delete(id);
    } catch (error) {
      open.delete(id);
      send({ type: 'failed', id, message: error instanceof Error ? error.message : 'Failed to fetch' });
    }
  };
  port.addEventListener('message', ({ data }: MessageEvent<PortRequest>) => {
    if (data.type === 'request') void handle(data);
    else if (data.type === 'abort') open.get(data.id)?.abort();
  });
}
