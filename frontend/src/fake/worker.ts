/** Runs the fake installation in a web worker (see messagePort.ts). The worker's name contains its options. */
import { FakeApi } from './api';
import { JOB_TEMPLATES, wideJobTemplate } from './jobTemplates';
import { serveOverPort, type Port } from './messagePort';
import { Installation } from './installation';

/** The interval between updates. This interval is below 100 ms, because timers fire late and the page must get ten updates a second. */
const TICK_MS = 85;

export interface WorkerOptions {
  /** Whether to add a job with 200 operators of 8 subtasks. */
  wide: boolean;
  /** The logged-in user. */
  user: 'viewer' | 'operator' | 'admin' | null;
}

export type ControlMessage =
  /** Simulate an unreachable API. */
  | { type: 'away'; away: boolean }
  /** The worker sends this message when the logged-in user has changed. */
  | { type: 'user'; user: string | null };

const { wide, user } = JSON.parse(self.name) as WorkerOptions;
const fake = new FakeApi(new Installation(Date.now(), 7, wide ? [...JOB_TEMPLATES, wideJobTemplate()] : JOB_TEMPLATES), user);
const port: Port = self;
let known: string | null = user;
serveOverPort(port, async (request) => {
  const answer = await fake.handle(request);
  if (fake.user !== known) port.postMessage({ type: 'user', user: (known = fake.user) } satisfies ControlMessage, { transfer: [] });
  return answer;
});
port.addEventListener('message', ({ data }: MessageEvent<ControlMessage>) => {
  if (data.type === 'away') fake.unreachable = data.away;
});
setInterval(() => fake.installation.advance(Date.now()), TICK_MS);
