import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';

import { EVENTS_MAX, reduceJob, initialJob, type JobLive } from './jobLive';
import { ALL_RESOURCES, invalidate, staleResources } from './invalidation';

let number = 0;
const live = reduceJob(initialJob(0), { type: 'opened', nowMs: 1 });
const receive = (job: JobLive, kinds: readonly string[]): JobLive =>
  reduceJob(job, { type: 'messages', nowMs: 2, messages: kinds.map((kind) => ({ event: 'event', data: JSON.stringify({ number: (number += 1), kind, fields: {} }) })) });
const staleAfter = (...kinds: string[]): string[] => [...staleResources(live, receive(live, kinds))].sort();

it('finds the resources that events make stale', () => {
  expect(staleAfter('CheckpointTriggered', 'CheckpointCompleted')).toEqual(['checkpoints', 'jobs']);
  expect(staleAfter('PlanApplied')).toContain('plans');
  expect(staleAfter()).toEqual([]);
});

it('ignores events that have already been received', () => {
  const before = receive(live, ['FailureOccurred']);
  expect([...staleResources(before, receive(before, ['CheckpointTriggered']))]).toEqual(['checkpoints']);
});

it('treats all resources as stale after a reconnect', () => {
  const disconnected = reduceJob(live, { type: 'disconnected', nowMs: 3, reason: 'unreachable', retryInMs: 500 });
  expect([...staleResources(disconnected, live)].sort()).toEqual([...ALL_RESOURCES].sort());
  expect([...staleResources(live, disconnected)]).toEqual([]);
});

it('treats all resources as stale if more events arrive than the page keeps', () => {
  const burst = ['FailureOccurred', 'PlanApplied', ...Array<string>(EVENTS_MAX).fill('CheckpointTriggered')];
  expect(staleAfter(...burst)).toEqual([...ALL_RESOURCES].sort());
});

it('invalidates the lists of a stale resource and the queries of the job', () => {
  const queries = new QueryClient();
  const keys = [['checkpoints', 'getList', {}], ['job', 1, 'checkpoints', 'summary'], ['job', 2, 'checkpoints', 'summary'], ['job', 1, 'metrics'], ['runs', 'getList', {}]];
  for (const key of keys) queries.setQueryData(key, 1);
  invalidate(queries, 1, ['checkpoints']);
  expect(keys.filter((key) => queries.getQueryState(key)!.isInvalidated)).toEqual(keys.slice(0, 2));
});
