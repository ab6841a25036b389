import { describe, expect, it } from 'vitest';

import type { Schemas } from '../../../api/types';
import { goesBack, isInStorage, whyNotAnew, whyNotApply, whyNotBackTo, whyNotRestore, whyNotUndo, whyNotWorking } from './allowed';
import { isUndone, whyKept, type Around } from './kept';
import type { Checkpoint } from './lineage';

type Plan = Schemas['PlanShown'];

const NOW = Date.parse('2026-11-22T12:00:00Z');
const checkpoint = (change: Partial<Checkpoint> = {}): Checkpoint =>
  ({ number: 40, state: 'COMPLETED', discarded_at: null, leaving_at: null, damage: null, failure: null, pinned: false, pinned_reason: '', pin_in_force: false, is_savepoint: false, ...change }) as Checkpoint;
const plan = ({ preview, ...change }: Partial<Omit<Plan, 'preview'>> & { preview?: Partial<Plan['preview']> } = {}): Plan =>
  ({
    id: 3, kind: 'rollback', state: 'PROPOSED', job_version: 4, undo_of: null, safety_checkpoint: null, created_at: new Date(NOW - 60_000).toISOString(),
    preview: { checkpoint: 40, duplicates: [], inspection: { whole: true, damage: null }, ...preview }, ...change,
  }) as Plan;
const free = { operation: null, version: 4, name: 'flights' };
const applying = { ...free, operation: { kind: 'apply-plan', ended_at: null, request: { plan: 9 } } as unknown as Schemas['OperationShown'] };

describe('going back to a checkpoint', () => {
  it('is allowed to what is completed and there', () => expect(whyNotBackTo(checkpoint(), free)).toBeNull());

  it.each([
    [{ discarded_at: '2026-11-20T10:00:00Z' }, /files of checkpoint 40 are gone since 2026-11-20/],
    [{ leaving_at: '2026-11-22T10:00:00Z' }, /is being deleted since/],
    [{ damage: 'state/a.bin is missing' }, /is damaged: state\/a\.bin is missing/],
    [{ state: 'FAILED', failure: 'late' }, /has failed: late/],
    [{ state: 'IN_PROGRESS' }, /not complete yet/],
  ] satisfies [Partial<Checkpoint>, RegExp][])('is not with %o, and says why', (change, why) => expect(whyNotBackTo(checkpoint(change), free)).toMatch(why));

  it('waits for the plan that is being applied', () => expect(whyNotBackTo(checkpoint(), applying)).toBe('Plan 9 is being applied to this job: wait until it is over.'));
});

describe('beginning elsewhere, or anew', () => {
  const job = { ...free, spec_state: 'VALID', run: {} as NonNullable<Schemas['JobShown']['run']> } as const;
  it('is allowed of what compiles', () => expect([whyNotRestore(job), whyNotAnew(job)]).toEqual([null, null]));
  it('waits for the code, and for the plan that is being applied', () => {
    for (const why of [whyNotRestore, whyNotAnew]) {
      expect(why({ ...job, spec_state: 'COMPILING' })).toBe('Its code is still being compiled.');
      expect(why({ ...job, spec_state: 'INVALID' })).toMatch(/does not compile: give it a new version/);
      expect(why({ ...job, ...applying })).toMatch(/Plan 9 is being applied/);
    }
  });
  it('is no news to a job that has never run, which may still begin with a checkpoint from elsewhere', () => {
    const never = { ...job, run: null };
    expect(whyNotAnew(never)).toMatch(/begins without any state when it is started/);
    expect(whyNotRestore(never)).toBeNull();
  });
});

describe('what a plan goes on with', () => {
  it.each([
    [{}, true, true],
    [{ checkpoint: null }, false, false],
    [{ checkpoint: null, origin: '/srv/a' }, true, true],
    [{ checkpoint: null, anew: true }, false, true],
  ] satisfies [Partial<Plan['preview']>, boolean, boolean][])('of %o is in storage: %s, and takes back what was committed: %s', (preview, stored, back) => {
    expect([isInStorage(plan({ preview })), goesBack(plan({ preview }))]).toEqual([stored, back]);
  });
});

describe('applying a plan', () => {
  const agreement = { job: free, permissions: ['view', 'operate', 'rollback'] as const, nowMs: NOW };
  const why = (change: Parameters<typeof plan>[0], other: object = {}): string | null => whyNotApply(plan(change), { ...agreement, permissions: [...agreement.permissions], ...other });

  it('is allowed once a worker has looked, and as long as the job has not changed', () => expect(why({})).toBeNull());
  it('needs a permission of its own where it goes back, and none where it goes on', () => {
    expect(why({}, { permissions: ['view', 'operate'] })).toMatch(/needs the permission 'rollback'/);
    expect(why({ kind: 'rescale', preview: { checkpoint: null } }, { permissions: ['view', 'operate'] })).toBeNull();
    expect(why({ kind: 'upgrade', preview: { checkpoint: null, anew: true } }, { permissions: ['view', 'operate'] })).toMatch(/needs the permission 'rollback'/);
    expect(why({ kind: 'restore', preview: { checkpoint: null, origin: '/srv/a' } }, { permissions: ['view', 'operate'] })).toMatch(/needs the permission 'rollback'/);
  });
  it('waits for the worker', () => expect(why({ preview: { inspection: null } })).toMatch(/still looking/));
  it('is refused of a damaged checkpoint', () => expect(why({ preview: { inspection: { whole: false, damage: 'a.bin is missing' } as never } })).toMatch(/would not work: a\.bin is missing/));
  it('is refused if the state does not fit, whichever way it goes', () => {
    const inspection = { whole: true, damage: null, misfit: 'counts is keyed by y' } as never;
    expect(why({ preview: { inspection } })).toBe('It would not work: counts is keyed by y. Mend that in a new version, or choose another checkpoint.');
    expect(why({ kind: 'upgrade', preview: { checkpoint: null, inspection } })).toMatch(/keyed by y/);
    expect(whyNotWorking(plan({ preview: { inspection: { whole: true, damage: null, misfit: null } as never } }))).toBeNull();
  });
  it('is refused of a path with nothing in it', () => {
    const inspection = { whole: false, damage: 'there is no job in /srv/a' } as never;
    expect(why({ kind: 'restore', preview: { checkpoint: null, origin: '/srv/a', inspection } })).toMatch(/no job in \/srv\/a\. Choose another one, or another path/);
  });
  it('is refused once the job has changed', () => expect(why({ job_version: 3 })).toMatch(/has changed since/));
  it('is refused after a day', () => expect(why({ created_at: new Date(NOW - 90_000_000).toISOString() })).toMatch(/older than a day/));
  it('is refused while another is', () => expect(why({}, { job: applying })).toMatch(/Plan 9 is being applied/));
  it('is over when it is', () => expect(why({ state: 'APPLIED' })).toBe('The plan is applied.'));
});

describe('undoing a plan', () => {
  const applied = plan({ state: 'APPLIED', safety_checkpoint: 46 });
  it('is allowed while what it was stopped with is there', () => expect(whyNotUndo(applied, [applied], checkpoint({ number: 46 }), free)).toBeNull());
  it('is not once that is gone', () => expect(whyNotUndo(applied, [applied], checkpoint({ number: 46, discarded_at: '2026-11-20T10:00:00Z' }), free)).toMatch(/gone since/));
  it('is not where nothing is known of that any more, and is where it is not known yet', () => {
    expect(whyNotUndo(applied, [applied], null, free)).toBe('The files of checkpoint 46 are gone: there is nothing to return to.');
    expect(whyNotUndo(applied, [applied], undefined, free)).toBeNull();
  });
  it('is not twice', () => {
    const undo = plan({ id: 4, kind: 'undo', state: 'APPLIED', undo_of: 3 });
    expect(whyNotUndo(applied, [undo, applied], checkpoint(), free)).toBe('Plan 3 was undone already.');
    expect(isUndone(applied, [{ ...undo, state: 'FAILED' }])).toBe(false);
  });
  it('is not of what was never applied, or had nothing to return to', () => {
    expect(whyNotUndo(plan(), [], undefined, free)).toMatch(/was not applied/);
    expect(whyNotUndo(plan({ state: 'APPLIED' }), [], undefined, free)).toMatch(/nothing to return to/);
  });
});

describe('why a checkpoint is kept', () => {
  const around: Around = { lineage: { newest: 60, branchPoints: new Set() }, plans: [], retained: 3, newer: 20, current: true, nowMs: NOW };
  const why = (change: Partial<Checkpoint>, other: Partial<Around> = {}): string => whyKept(checkpoint(change), { ...around, ...other }).join('; ');

  it('needs no reason to go', () => expect(why({})).toBe(''));
  it.each([
    [{ number: 60 }, {}, /the newest: the job would go on with it/],
    [{ number: 58 }, { newer: 2 }, /^one of the newest 3$/],
    [{ number: 57 }, { newer: 3 }, /^$/],
    [{ pinned: true, pinned_reason: 'before the move', pin_in_force: true }, {}, /^pinned: before the move$/],
    [{ pinned: true }, {}, /^pinned \(not in force yet\)$/],
    [{ is_savepoint: true }, {}, /a savepoint/],
    [{}, { current: false }, /^left behind by going back: it stays/],
    [{ is_savepoint: true }, { current: false }, /^a savepoint, left behind by going back: it stays until somebody deletes it$/],
    [{}, { lineage: { newest: 60, branchPoints: new Set([40]) } }, /branches off here/],
    [{}, { plans: [plan()] }, /plan 3 would go back to it/],
    [{}, { plans: [plan({ state: 'WITHDRAWN' })] }, /^$/],
    [{}, { plans: [plan({ created_at: new Date(NOW - 90_000_000).toISOString() })] }, /^$/],
    [{}, { plans: [plan({ state: 'APPLYING' })] }, /plan 3 is being applied/],
    [{ number: 46 }, { plans: [plan({ state: 'APPLIED', safety_checkpoint: 46 })] }, /undoing plan 3 would return to it/],
    [
      { number: 46, pinned: true, pin_in_force: true, pinned_reason: 'an undo of plan 3 would return to it' }, { plans: [plan({ state: 'APPLIED', safety_checkpoint: 46 })] },
      /^pinned: an undo of plan 3 would return to it$/,
    ],
  ] satisfies [Partial<Checkpoint>, Partial<Around>, RegExp][])('says of %o around %o', (change, other, said) => expect(why(change, other)).toMatch(said));
});
