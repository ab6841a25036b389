/** The logs of simulated drivers, as in `GET /runs/{id}/log`. */
import type { Schemas } from '../api/types';
import { CHUNK_BYTES } from '../pages/job/logs/logWindow';
import { iso, type FakeJob } from './model';
import { problem } from './routes';

type Run = Schemas['RunRead'];

const WRITES: Record<string, string> = { CheckpointCompleted: 'checkpoint completed', CheckpointFailed: 'checkpoint failed', RunStateChanged: 'state changed', FailureOccurred: 'failure' };

export const logLine = (atMs: number, level: string, event: string, fields: Record<string, unknown> = {}): string =>
  `${JSON.stringify({ ...fields, event, level, timestamp: iso(atMs) })}\n`;

/** Return the first lines of the log of a run, and the lines about its failures. */
export function initialLog(run: Run, failures: readonly Schemas['FailureRead'][]): string {
  const beganMs = Date.parse(run.created_at);
  const lines: [number, string][] = [
    [beganMs, logLine(beganMs, 'info', 'starting the driver', { run: run.number, host: run.host, pid: run.pid })],
    [beganMs + 4_100, '26/11/22 04:00:04 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform\n'],
    [beganMs + 6_100, logLine(beganMs + 6_100, 'info', 'job deployed', { generation: 1, slots: 4 })],
  ];
  for (const { at, reason, kind, generation, run_id } of failures) {
    if (run_id !== run.id) continue;
    const ms = Date.parse(at);
    lines.push(
      [ms - 40, logLine(ms - 40, 'debug', 'data connection closed', { generation })],
      [ms, logLine(ms, 'error', 'failure, recovering', { generation, kind, reason, exception: `Traceback (most recent call last):\n  File "job.py", line 18, in job\nweir.errors.${kind}: ${reason}` })],
      [ms + 900, logLine(ms + 900, 'warning', 'restarting all subtasks', { generation: generation + 1 })],
    );
  }
  return lines.sort(([one], [other]) => one - other).map(([, text]) => text).join('');
}

/** Write a line about an event of the driver. */
export function writeEvent(one: FakeJob, kind: string, fields: Record<string, unknown>, nowMs: number): void {
  const event = WRITES[kind];
  if (event && one.job.run) writeLog(one, one.job.run.id, logLine(nowMs, kind === 'CheckpointFailed' || kind === 'FailureOccurred' ? 'warning' : 'info', event, fields));
}

export function writeLog(one: FakeJob, runId: number, text: string): void {
  one.logs.set(runId, (one.logs.get(runId) ?? '') + text);
}

/** Return a chunk of the log of a run. */
export function logResponse(one: FakeJob, run: Run, offset: number): Response {
  if (run.files_cleared_at !== null) return problem(410, 'log-removed', `The log of run ${run.number} was deleted on ${run.files_cleared_at.slice(0, 10)}.`, 'Read the events of the job instead.');
  const log = new TextEncoder().encode(one.logs.get(run.id) ?? '');
  const begin = offset < 0 ? Math.max(0, log.length + offset) : offset <= log.length ? offset : 0;
  const data = log.slice(begin, begin + CHUNK_BYTES);
  return new Response(data, { headers: { 'Content-Type': 'text/plain', 'X-Log-Size': String(log.length), 'X-Log-Next': String(begin + data.length) } });
}
