import { describe, expect, it } from 'vitest';

import type { JobEvent } from '../../../live/jobLive';
import { liveTotal, mergeLiveEvents } from './mergeEvents';

const event = (number: number, kind = 'CheckpointCompleted'): JobEvent => ({
  id: 1000 + number, job_id: 1, number, run_id: 1, run_event: number, kind, fields: {}, at: '2026-11-22T03:00:00Z', received_at: '2026-11-22T03:00:00Z',
});
const numbers = (events: readonly JobEvent[]): number[] => events.map(({ number }) => number);

describe('the event log with streamed events', () => {
  it('shows newer events at the top, and shows each event once', () => {
    expect(numbers(mergeLiveEvents([event(9), event(8)], [event(8), event(9), event(10), event(11)], []))).toEqual([11, 10, 9, 8]);
  });

  it('shows only events of the selected kinds', () => {
    const streamed = [event(10), event(11, 'FailureOccurred'), event(12)];
    expect(numbers(mergeLiveEvents([event(4, 'FailureOccurred')], streamed, ['FailureOccurred']))).toEqual([11, 4]);
  });

  it('hides new events of routine checkpoints, and listed events that new events have made routine', () => {
    const periodic = (number: number): JobEvent => ({ ...event(number), fields: { trigger: 'periodic' } });
    const between = (first: number, last: number): JobEvent[] => Array.from({ length: last - first + 1 }, (_, index) => periodic(first + index));
    // Event 4 is a failure. The API has omitted the routine events 7 to 10.
    const listed = [periodic(12), periodic(11), periodic(6), periodic(5), event(4, 'FailureOccurred')];
    expect(numbers(mergeLiveEvents(listed, [], [], true))).toEqual([12, 11, 6, 5, 4]);
    expect(numbers(mergeLiveEvents(listed, between(13, 13), [], true))).toEqual([13, 12, 6, 5, 4]);
    expect(numbers(mergeLiveEvents(listed, between(9, 20), [], true))).toEqual([20, 19, 6, 5, 4]);
    expect(numbers(mergeLiveEvents(listed, [...between(13, 16), event(17, 'CheckpointFailed'), periodic(18)], [], true))).toEqual([18, 17, 16, 15, 6, 5, 4]);
    expect(numbers(mergeLiveEvents(listed, between(13, 14), []))).toEqual([14, 13, 12, 11, 6, 5, 4]);
    expect(numbers(mergeLiveEvents([], between(1, 7), [], true))).toEqual([7, 6, 2, 1]);
  });

  it('shows streamed events even if the fetched list is empty', () => expect(numbers(mergeLiveEvents([], [event(1), event(2)], []))).toEqual([2, 1]));
});

it('streamed events increase an exact total, but not a total that is a lower bound', () => {
  expect([liveTotal(40, 3), liveTotal(10_000, 3), liveTotal(10_001, 3)]).toEqual([43, 10_003, 10_001]);
});
