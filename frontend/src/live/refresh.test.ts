import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';

import { invalidate, staleAfter } from './refresh';

it('says which answers are out of date after what happened', () => {
  expect([...staleAfter(['CheckpointTriggered', 'CheckpointCompleted'])].sort()).toEqual(['checkpoints', 'jobs']);
  expect([...staleAfter(['PlanApplied'])]).toContain('plans');
});

it('invalidates lists of that resource, and what is known of this job only', () => {
  const queries = new QueryClient();
  const keys = [['checkpoints', 'getList', {}], ['job', 1, 'checkpoints', 'summary'], ['job', 2, 'checkpoints', 'summary'], ['job', 1, 'metrics'], ['runs', 'getList', {}]];
  for (const key of keys) queries.setQueryData(key, 1);
  invalidate(queries, 1, ['checkpoints']);
  expect(keys.filter((key) => queries.getQueryState(key)!.isInvalidated)).toEqual(keys.slice(0, 2));
});
