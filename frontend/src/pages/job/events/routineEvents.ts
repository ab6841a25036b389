/** Pure functions that recognise the events of routine checkpoints. The API applies the same rule (backend: events/repository.py). */
import type { JobEvent } from '../../../live/jobLive';

type Event = Pick<JobEvent, 'kind' | 'fields'>;

const OFFSETS = [-2, -1, 0, 1, 2];

/** Return whether the event reports that a periodic checkpoint was triggered or completed. */
export function isPeriodic({ kind, fields }: Event): boolean {
  return (kind === 'CheckpointTriggered' || kind === 'CheckpointCompleted') && fields.trigger === 'periodic';
}

/** Return whether the event is in the middle of a series of periodic checkpoints. `periodicAt` returns `isPeriodic` of an event of the same job. */
export function isRoutine(number: number, periodicAt: (number: number) => boolean): boolean {
  return OFFSETS.every((offset) => periodicAt(number + offset));
}
