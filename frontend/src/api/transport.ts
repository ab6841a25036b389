import { UNREACHABLE, type ApiProblem } from './problem';

export type Transport = (request: Request) => Promise<Response>;

let transport: Transport = (request) => fetch(request);

/** Another way to reach the API: the fake one, in development without a backend and in tests. Gives back what undoes it. */
export function setTransport(other: Transport): () => void {
  const before = transport;
  transport = other;
  return () => {
    transport = before;
  };
}

/** `fetch`, which says by an ApiProblem that nobody answers. The cookie of the session goes along by itself: one origin. */
export async function send(request: Request): Promise<Response> {
  try {
    return await transport(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw UNREACHABLE;
  }
}

/** Absolute, as a Request needs it outside of a page, too. */
export function address(path: string): string {
  return new URL(path, globalThis.location.origin).href;
}

type Listener = (problem: ApiProblem) => void;
const listeners = new Set<Listener>();

/** Called when any request finds that the session is over. */
export function onSessionOver(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function sessionIsOver(problem: ApiProblem): void {
  for (const listener of listeners) listener(problem);
}
