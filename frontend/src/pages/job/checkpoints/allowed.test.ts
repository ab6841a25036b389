import { describe, expect, it } from 'vitest';

import { World } from '../../../fake/world';
import { allowed, takeable } from './allowed';

const NOW = Date.parse('2026-11-22T03:08:02Z');
const world = new World(NOW);
const running = world.find(1)!;
const suspended = world.find(7)!.job;
const body = running.checkpoints.find(({ body: one }) => one.state === 'COMPLETED' && one.discarded_at === null && one.number !== running.job.last_checkpoint!.number)!.body;
const whole = { ...body, pinned: false };

describe('what can be done with a checkpoint', () => {
  it('of a job that rests, everything', () => {
    expect(allowed(whole, suspended)).toEqual({ pin: null, verify: null, delete: null });
  });

  it('of a job that runs, all but deleting', () => {
    expect(allowed(whole, running.job)).toEqual({ pin: null, verify: null, delete: expect.stringMatching(/^Run \d+ is not over.*Suspend the job first/) });
    expect(allowed(whole, { ...suspended, desired_state: 'RUNNING' }).delete).toMatch(/about to be started/);
  });

  it('not deleting what is pinned or newest', () => {
    expect(allowed({ ...whole, pinned: true }, suspended)).toEqual({ pin: null, verify: null, delete: 'It is pinned. Let go of it first.' });
    expect(allowed({ ...whole, number: suspended.last_checkpoint!.number }, suspended).delete).toMatch(/newest completed/);
  });

  it.each([
    [{ state: 'IN_PROGRESS' as const }, 'It has not completed yet.'],
    [{ state: 'FAILED' as const }, 'It has failed: there is nothing left of it.'],
    [{ discarded_at: '2026-11-22T03:00:00Z' }, 'Its files are gone since 2026-11-22 03:00:00 UTC.'],
    [{ leaving_at: '2026-11-22T03:00:00Z' }, 'It is being deleted since 2026-11-22 03:00:00 UTC.'],
  ])('nothing with one that is %o', (facts, why) => {
    expect(allowed({ ...whole, ...facts }, suspended, 'UTC')).toEqual({ pin: why, verify: why, delete: why });
  });

  it('letting go of one that is gone, as nothing keeps it', () => {
    expect(allowed({ ...whole, pinned: true, discarded_at: '2026-11-22T03:00:00Z' }, suspended).pin).toBeNull();
  });
});

it('checkpoints are taken of jobs that run', () => {
  expect(takeable(running.job)).toBeNull();
  expect(takeable(suspended)).toBe('The job does not run.');
  expect(takeable(world.find(5)!.job)).toBe('The job is restarting: it takes checkpoints once it runs.');
  expect(takeable(world.find(9)!.job)).toBe('The job does not run.');
  const operation = { kind: 'apply-plan', ended_at: null, request: { plan: 4 } } as unknown as NonNullable<(typeof suspended)['operation']>;
  expect(takeable({ ...running.job, operation })).toMatch(/^Plan 4 is being applied/);
});
