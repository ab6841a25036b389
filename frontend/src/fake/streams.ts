/** Server-sent events of the invented installation, as weir_backend.events.streams tells them. */
import type { Schemas } from '../api/types';
import type { FakeJob, World } from './world';

const KEEP_ALIVE_MS = 15_000;
const NOT_VALID = { status: 401, code: 'unauthenticated', detail: 'the token is not valid, or not any more', next_step: 'log in again, or make a new token' };

/** `begin` is given what tells and what ends the stream, and gives back what stops its telling. */
function stream(world: World, begin: (say: (text: string) => void, finish: () => void) => () => void, signal: AbortSignal): Response {
  let end: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder();
      const say = (text: string): void => controller.enqueue(encoder.encode(text));
      const finish = (): void => {
        end?.();
        controller.close();
      };
      const takeAway = (): void => {
        say(message('closed', NOT_VALID));
        finish();
      };
      const stop = begin(say, finish);
      world.followers.add(takeAway);
      const alive = setInterval(() => say(': \n\n'), KEEP_ALIVE_MS);
      end = () => {
        stop();
        clearInterval(alive);
        world.followers.delete(takeAway);
        end = undefined;
      };
      signal.addEventListener('abort', () => {
        end?.();
        controller.error(signal.reason);
      });
    },
    cancel: () => end?.(),
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

const message = (event: string, data: unknown, id?: number): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n${id === undefined ? '' : `id: ${id}\n`}\n`;

export function followJob(world: World, one: FakeJob, lastId: string | null, signal: AbortSignal): Response {
  return stream(world, (say, finish) => {
    let after = lastId === null ? (one.events.at(-1)?.number ?? 0) : Number(lastId);
    let run = '';
    let progress = '';
    const look = (changed: FakeJob): void => {
      if (changed !== one) return;
      if (!world.jobs.includes(one)) return finish();
      for (const event of one.events.filter(({ number }) => number > after)) say(message('event', event, (after = event.number)));
      const newRun = one.job.run ? JSON.stringify(runNews(one)) : '';
      if (newRun !== run) say(message('run', JSON.parse((run = newRun))));
      const current = one.checkpoints[0];
      const newProgress = current?.body.state === 'IN_PROGRESS' ? JSON.stringify(progressOf(current)) : progress;
      if (newProgress !== progress) say(message('progress', JSON.parse((progress = newProgress))));
    };
    say(`: following\nid: ${after}\n\n`);
    look(one);
    world.listeners.add(look);
    return () => world.listeners.delete(look);
  }, signal);
}

function runNews({ job, runs }: FakeJob): Schemas['RunNewsBody'] {
  const { id, number, reason, generation, running_at, ended_at } = runs[0]!;
  return { id, number, state: lastSaid(job.state), reason, generation, running_at, ended_at };
}

function progressOf({ body, measured }: FakeJob['checkpoints'][number]): Schemas['ProgressBody'] {
  return {
    checkpoint: body.number, checkpoint_id: body.id, run_id: body.run_id, trigger: body.trigger, triggered_at: body.triggered_at, subtasks: body.subtasks,
    acknowledged: body.acknowledged, progress: measured.slice(0, body.acknowledged).map(({ chain, index, afterMs }) => [chain, index, afterMs]),
  };
}

/** Streams tell what the driver said last, and not that nothing is heard of it since. */
const lastSaid = (state: Schemas['RunState']): Schemas['RunState'] => (state === 'RECONCILING' ? 'RUNNING' : state);

export function followJobs(world: World, signal: AbortSignal): Response {
  return stream(world, (say) => {
    const told = new Map<number, string>();
    const tell = (one: FakeJob): void => {
      const { job } = one;
      const { id, name, desired_state, state, run, last_checkpoint: last } = job;
      const news: Schemas['JobNewsBody'] = {
        id, name, desired_state, state: run ? lastSaid(state) : null, run_id: run?.id ?? null, deleted: !world.jobs.includes(one),
        last_checkpoint: last && { id: last.id, number: last.number, completed_at: last.completed_at, end_to_end_ms: last.end_to_end_ms, state_bytes: last.state_bytes },
      };
      const text = message('job', news);
      if (told.get(id) !== text) say(text);
      told.set(id, text);
    };
    world.jobs.forEach(tell);
    world.listeners.add(tell);
    return () => world.listeners.delete(tell);
  }, signal);
}
