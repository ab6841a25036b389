import { expect, it } from 'vitest';

import { nextJobs, unknownJobs, type JobsLive, type JobSummary } from './jobsLive';
import type { ServerMessage } from './sse';

const job = (id: number, state: JobSummary['state'] = 'RUNNING', deleted = false): ServerMessage => ({ event: 'job', data: JSON.stringify({ id, state, deleted }) });
const hear = (known: JobsLive, ...messages: ServerMessage[]): JobsLive => nextJobs(known, { type: 'messages', nowMs: 1, messages });
const states = ({ jobs }: JobsLive): unknown[] => [...jobs.values()].map(({ id, state }) => [id, state]);

it('knows of each job what was told of it last', () => {
  expect(states(hear(hear(unknownJobs(0), job(1), job(2)), job(1, 'FAILED')))).toEqual([[1, 'FAILED'], [2, 'RUNNING']]);
});

it('forgets what is deleted', () => {
  expect(states(hear(unknownJobs(0), job(1), job(2), job(1, null, true)))).toEqual([[2, 'RUNNING']]);
});

it('passes over what is told of no job: that its token is not valid any more, and what a newer backend tells', () => {
  const known = hear(unknownJobs(0), job(1));
  expect(hear(known, { event: 'closed', data: '{"status": 401}' }, { event: 'moon', data: 'no JSON' }).jobs).toBe(known.jobs);
});
