/** The invented installation, in a worker of the page: see wire.ts. What it begins with is in its name. */
import { FakeApi } from './api';
import { SCENES, wideScene } from './scenes';
import { answerOver, type Port } from './wire';
import { World } from './world';

/** A little less than what is promised, so that ten times a second is what comes of it. */
const TICK_MS = 85;

export interface Beginning {
  /** One more job, with 200 operators of 8 subtasks. */
  wide: boolean;
  /** Who is logged in. */
  user: 'viewer' | 'operator' | 'admin' | null;
}

export type Aside =
  /** As if the control plane were away. */
  | { type: 'away'; away: boolean }
  /** Who is logged in now. */
  | { type: 'user'; user: string | null };

const { wide, user } = JSON.parse(self.name) as Beginning;
const fake = new FakeApi(new World(Date.now(), 7, wide ? [...SCENES, wideScene()] : SCENES), user);
const port: Port = self;
let known: string | null = user;
answerOver(port, async (request) => {
  const answer = await fake.answer(request);
  if (fake.user !== known) port.postMessage({ type: 'user', user: (known = fake.user) } satisfies Aside, { transfer: [] });
  return answer;
});
port.addEventListener('message', ({ data }: MessageEvent<Aside>) => {
  if (data.type === 'away') fake.away = data.away;
});
setInterval(() => fake.world.advance(Date.now()), TICK_MS);
