import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';

import { EVENTS_MAX, nextJob, unknownJob, type JobLive } from './jobLive';
import { ALL, invalidate, staleSince } from './refresh';

let number = 0;
const live = nextJob(unknownJob(0), { type: 'opened', nowMs: 1 });
const hear = (job: JobLive, kinds: readonly string[]): JobLive =>
  nextJob(job, { type: 'messages', nowMs: 2, messages: kinds.map((kind) => ({ event: 'event', data: JSON.stringify({ number: (number += 1), kind, fields: {} }) })) });
const staleAfter = (...kinds: string[]): string[] => [...staleSince(live, hear(live, kinds))].sort();

it('says which answers are out of date after what happened', () => {
  expect(staleAfter('CheckpointTriggered', 'CheckpointCompleted')).toEqual(['checkpoints', 'jobs']);
  expect(staleAfter('PlanApplied')).toContain('plans');
  expect(staleAfter()).toEqual([]);
});

it('takes nothing for fresh that was told before', () => {
  const before = hear(live, ['FailureOccurred']);
  expect([...staleSince(before, hear(before, ['CheckpointTriggered']))]).toEqual(['checkpoints']);
});

it('takes all for out of date when the line is there again', () => {
  const broken = nextJob(live, { type: 'broken', nowMs: 3, why: 'away', againInMs: 500 });
  expect([...staleSince(broken, live)].sort()).toEqual([...ALL].sort());
  expect([...staleSince(live, broken)]).toEqual([]);
});

it('takes all for out of date when more was told at once than is kept: what was forgotten may have been of any kind', () => {
  const burst = ['FailureOccurred', 'PlanApplied', ...Array<string>(EVENTS_MAX).fill('CheckpointTriggered')];
  expect(staleAfter(...burst)).toEqual([...ALL].sort());
});

it('invalidates lists of that resource, and what is known of this job only', () => {
  const queries = new QueryClient();
  const keys = [['checkpoints', 'getList', {}], ['job', 1, 'checkpoints', 'summary'], ['job', 2, 'checkpoints', 'summary'], ['job', 1, 'metrics'], ['runs', 'getList', {}]];
  for (const key of keys) queries.setQueryData(key, 1);
  invalidate(queries, 1, ['checkpoints']);
  expect(keys.filter((key) => queries.getQueryState(key)!.isInvalidated)).toEqual(keys.slice(0, 2));
});
