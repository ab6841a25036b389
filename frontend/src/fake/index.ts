import { setTransport } from '../api/transport';
import { requestOverPort } from './messagePort';
import type { ControlMessage, WorkerOptions } from './worker';

const REMEMBERED = 'weir-fake-user';
const NAMES = ['viewer', 'operator', 'admin'] as const;

/**
 * Run the fake installation in a worker, for `make ui-dev` and `make bench-ui`. The logged-in user is kept per window, like a cookie. `?wide` in
  * the first URL adds a job with 200 operators of 8 subtasks.
 */
export function installFakeApi(): void {
  const remembered = sessionStorage.getItem(REMEMBERED);
  const beginning: WorkerOptions = { wide: new URLSearchParams(location.search).has('wide'), user: NAMES.find((name) => name === remembered) ?? null };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: JSON.stringify(beginning) });
  setTransport(requestOverPort(worker));
  worker.addEventListener('message', ({ data }: MessageEvent<ControlMessage>) => {
    if (data.type !== 'user') return;
    if (data.user === null) sessionStorage.removeItem(REMEMBERED);
    else sessionStorage.setItem(REMEMBERED, data.user);
  });
  // In the browser's console: weirFake.away(true)
  (globalThis as { weirFake?: object }).weirFake = { away: (away: boolean) => worker.postMessage({ type: 'away', away } satisfies ControlMessage) };
}
