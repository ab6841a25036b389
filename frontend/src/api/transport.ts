import { UNREACHABLE, type ApiProblem } from './problem';

export type Transport = (request: Request) => Promise<Response>;

let transport: Transport = (request) => fetch(request);

/** Replace the transport, for example with the fake API. Returns a function that restores the previous transport. */
export function setTransport(replacement: Transport): () => void {
  const previous = transport;
  transport = replacement;
  return () => {
    transport = previous;
  };
}

/** Like `fetch`, but throws UNREACHABLE if there is no response. The browser adds the session cookie, because the API has the same origin. */
export async function send(request: Request): Promise<Response> {
  try {
    return await transport(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw UNREACHABLE;
  }
}

/** Return an absolute URL, because `new Request` requires an absolute URL outside of a page. */
export function absoluteUrl(path: string): string {
  return new URL(path, globalThis.location.origin).href;
}

type Listener = (problem: ApiProblem) => void;
const listeners = new Set<Listener>();

/** Call the listener when the response to a request shows that the session has ended. Returns a function that removes the listener. */
export function onSessionEnded(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function notifySessionEnded(problem: ApiProblem): void {
  for (const listener of listeners) listener(problem);
}
