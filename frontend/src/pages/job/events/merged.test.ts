import { describe, expect, it } from 'vitest';

import type { JobEvent } from '../../../live/jobLive';
import { withMore, withTold } from './merged';

const event = (number: number, kind = 'CheckpointCompleted'): JobEvent => ({
  id: 1000 + number, job_id: 1, number, run_id: 1, run_event: number, kind, fields: {}, at: '2026-11-22T03:00:00Z', received_at: '2026-11-22T03:00:00Z',
});
const numbers = (events: readonly JobEvent[]): number[] => events.map(({ number }) => number);

describe('the log with what was told since', () => {
  it('has what is newer on top, the newest first, and nothing twice', () => {
    expect(numbers(withTold([event(9), event(8)], [event(8), event(9), event(10), event(11)], []))).toEqual([11, 10, 9, 8]);
  });

  it('has only the kinds that are wanted', () => {
    const told = [event(10), event(11, 'FailureOccurred'), event(12)];
    expect(numbers(withTold([event(4, 'FailureOccurred')], told, ['FailureOccurred']))).toEqual([11, 4]);
  });

  it('begins with what is told if there was nothing', () => expect(numbers(withTold([], [event(1), event(2)], []))).toEqual([2, 1]));
});

it('adds to what was counted, and not to what is only known to be more', () => {
  expect([withMore(40, 3), withMore(10_000, 3), withMore(10_001, 3)]).toEqual([43, 10_003, 10_001]);
});
