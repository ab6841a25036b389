import { setTransport } from '../api/transport';
import { requestOverPort } from './messagePort';
import type { ControlMessage, WorkerOptions } from './worker';

const USER_KEY = 'weir-fake-user';
const NAMES = ['viewer', 'operator', 'admin'] as const;

/**
 * Run the fake installation in a worker, for `make ui-dev` and `make bench-ui`. Session storage replaces the session cookie,
 * so each browser window keeps its logged-in user across reloads. If the first page is loaded with `?wide` in its URL, there is also a job with 200 operators, each with 8 subtasks.
 */
export function installFakeApi(): void {
  const stored = sessionStorage.getItem(USER_KEY);
  const options: WorkerOptions = { wide: new URLSearchParams(location.search).has('wide'), user: NAMES.find((name) => name === stored) ?? null };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: JSON.stringify(options) });
  setTransport(requestOverPort(worker));
  worker.addEventListener('message', ({ data }: MessageEvent<ControlMessage>) => {
    if (data.type !== 'user') return;
    if (data.user === null) sessionStorage.removeItem(USER_KEY);
    else sessionStorage.setItem(USER_KEY, data.user);
  });
  // To simulate an unreachable API, call weirFake.away(true) in the browser's console.
  (globalThis as { weirFake?: object }).weirFake = { away: (away: boolean) => worker.postMessage({ type: 'away', away } satisfies ControlMessage) };
}
