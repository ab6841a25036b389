import { expect, it } from 'vitest';

import { reduceJobs, initialJobs, type JobsLive, type LiveJobStatus } from './jobsLive';
import type { ServerMessage } from './sseParser';

const job = (id: number, state: LiveJobStatus['state'] = 'RUNNING', deleted = false): ServerMessage => ({ event: 'job', data: JSON.stringify({ id, state, deleted }) });
const receive = (live: JobsLive, ...messages: ServerMessage[]): JobsLive => reduceJobs(live, { type: 'messages', nowMs: 1, messages });
const states = ({ jobs }: JobsLive): unknown[] => [...jobs.values()].map(({ id, state }) => [id, state]);

it('keeps the last status of each job', () => {
  expect(states(receive(receive(initialJobs(0), job(1), job(2)), job(1, 'FAILED')))).toEqual([[1, 'FAILED'], [2, 'RUNNING']]);
});

it('removes deleted jobs', () => {
  expect(states(receive(initialJobs(0), job(1), job(2), job(1, null, true)))).toEqual([[2, 'RUNNING']]);
});

it('ignores messages about revoked tokens and unknown messages of a newer backend', () => {
  const live = receive(initialJobs(0), job(1));
  expect(receive(live, { event: 'closed', data: '{"status": 401}' }, { event: 'moon', data: 'no JSON' }).jobs).toBe(live.jobs);
});
