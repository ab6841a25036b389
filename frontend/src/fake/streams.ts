/** The server-sent events of the fake installation, in the format of the backend. */
import type { Schemas } from '../api/types';
import type { FakeJob } from './model';
import type { JobSimulator } from './jobSimulator';

const KEEP_ALIVE_MS = 15_000;
const NOT_VALID = { status: 401, code: 'unauthenticated', detail: 'The token is not valid.', next_step: 'Log in again or create a new token.' };

/**
 * Return a response with an event stream. `begin` gets two functions: `send` sends a text, and `finish` ends the stream. `begin` returns a
 * function that stops sending.
 */
function stream(simulator: JobSimulator, begin: (send: (text: string) => void, finish: () => void) => () => void, signal: AbortSignal): Response {
  let end: (() => void) | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder();
      const send = (text: string): void => controller.enqueue(encoder.encode(text));
      const finish = (): void => {
        end?.();
        controller.close();
      };
      const revoke = (): void => {
        send(message('closed', NOT_VALID));
        finish();
      };
      const stop = begin(send, finish);
      simulator.streamClosers.add(revoke);
      const alive = setInterval(() => send(': \n\n'), KEEP_ALIVE_MS);
      end = () => {
        stop();
        clearInterval(alive);
        simulator.streamClosers.delete(revoke);
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

export function streamJob(simulator: JobSimulator, one: FakeJob, lastId: string | null, signal: AbortSignal): Response {
  return stream(simulator, (send, finish) => {
    let after = lastId === null ? (one.events.at(-1)?.number ?? 0) : Number(lastId);
    let run = '';
    let progress = '';
    const update = (changed: FakeJob): void => {
      if (changed !== one) return;
      if (!simulator.jobs.includes(one)) return finish();
      for (const event of one.events.filter(({ number }) => number > after)) send(message('event', event, (after = event.number)));
      const newRun = one.job.run ? JSON.stringify(runStatus(one)) : '';
      if (newRun !== run) send(message('run', JSON.parse((run = newRun))));
      const current = one.checkpoints[0];
      const newProgress = current?.body.state === 'IN_PROGRESS' ? JSON.stringify(progressOf(current)) : progress;
      if (newProgress !== progress) send(message('progress', JSON.parse((progress = newProgress))));
    };
    send(`: subscribed\nid: ${after}\n\n`);
    update(one);
    simulator.listeners.add(update);
    return () => simulator.listeners.delete(update);
  }, signal);
}

function runStatus({ job, runs }: FakeJob): Schemas['RunStatusRead'] {
  const { id, number, reason, generation, running_at, ended_at } = runs[0]!;
  return { id, number, state: lastReported(job.state), reason, generation, running_at, ended_at };
}

function progressOf({ body, snapshots }: FakeJob['checkpoints'][number]): Schemas['CheckpointProgressRead'] {
  return {
    checkpoint: body.number, checkpoint_id: body.id, run_id: body.run_id, trigger: body.trigger, triggered_at: body.triggered_at, subtasks: body.subtasks,
    acknowledged: body.acknowledged, progress: snapshots.slice(0, body.acknowledged).map(({ chain, index, afterMs }) => [chain, index, afterMs]),
  };
}

/** Streams contain the state that the driver last reported, even if the driver is unreachable. */
const lastReported = (state: Schemas['RunState']): Schemas['RunState'] => (state === 'RECONCILING' ? 'RUNNING' : state);

export function streamJobs(simulator: JobSimulator, signal: AbortSignal): Response {
  return stream(simulator, (send) => {
    const sent = new Map<number, string>();
    const update = (one: FakeJob): void => {
      const { job } = one;
      const { id, name, desired_state, state, run, last_checkpoint: last } = job;
      const status: Schemas['JobStatusRead'] = {
        id, name, desired_state, state: run ? lastReported(state) : null, run_id: run?.id ?? null, deleted: !simulator.jobs.includes(one),
        last_checkpoint: last && { id: last.id, number: last.number, completed_at: last.completed_at, end_to_end_ms: last.end_to_end_ms, state_bytes: last.state_bytes },
      };
      const text = message('job', status);
      if (sent.get(id) !== text) send(text);
      sent.set(id, text);
    };
    simulator.jobs.forEach(update);
    simulator.listeners.add(update);
    return () => simulator.listeners.delete(update);
  }, signal);
}
