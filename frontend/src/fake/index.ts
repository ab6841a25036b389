import { setTransport } from '../api/transport';
import { FakeApi } from './api';
import { SCENES, wideScene } from './scenes';
import { World } from './world';

const TICK_MS = 100;
const REMEMBERED = 'weir-fake-user';

/**
 * For `make ui-dev`: an installation that lives in this page. Who is logged in is kept for the window, as a cookie would be. With `?wide` in the
 * address that is opened first there is one more job, with 200 operators of 8 subtasks.
 */
export function installFakeApi(): FakeApi {
  const remembered = sessionStorage.getItem(REMEMBERED);
  const scenes = new URLSearchParams(location.search).has('wide') ? [...SCENES, wideScene()] : SCENES;
  const fake = new FakeApi(new World(Date.now(), 7, scenes), remembered === 'viewer' || remembered === 'operator' || remembered === 'admin' ? remembered : null);
  setTransport(async (request) => {
    const answer = await fake.answer(request);
    if (fake.user) sessionStorage.setItem(REMEMBERED, fake.user);
    else sessionStorage.removeItem(REMEMBERED);
    return answer;
  });
  setInterval(() => fake.world.advance(Date.now()), TICK_MS);
  // From the console of the browser: weirFake.away = true
  (globalThis as { weirFake?: FakeApi }).weirFake = fake;
  return fake;
}
