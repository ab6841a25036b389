import { setTransport } from '../api/transport';
import { askOver } from './wire';
import type { Aside, Beginning } from './worker';

const REMEMBERED = 'weir-fake-user';
const NAMES = ['viewer', 'operator', 'admin'] as const;

/**
 * For `make ui-dev` and `make bench-ui`: an installation that lives in a worker of this page. Who is logged in is kept for the window, as a
 * cookie would be. With `?wide` in the address that is opened first there is one more job, with 200 operators of 8 subtasks.
 */
export function installFakeApi(): void {
  const remembered = sessionStorage.getItem(REMEMBERED);
  const beginning: Beginning = { wide: new URLSearchParams(location.search).has('wide'), user: NAMES.find((name) => name === remembered) ?? null };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: JSON.stringify(beginning) });
  setTransport(askOver(worker));
  worker.addEventListener('message', ({ data }: MessageEvent<Aside>) => {
    if (data.type !== 'user') return;
    if (data.user === null) sessionStorage.removeItem(REMEMBERED);
    else sessionStorage.setItem(REMEMBERED, data.user);
  });
  // From the console of the browser: weirFake.away(true)
  (globalThis as { weirFake?: object }).weirFake = { away: (away: boolean) => worker.postMessage({ type: 'away', away } satisfies Aside) };
}
