import { expect, it } from 'vitest';

import { planOf } from './planOfRun';
import { positionOf, ranges, stagesOf, titleOf, twice, verbOf } from './planWords';

it('says ranges of numbers', () => {
  expect([[], [4], [4, 5], [1, 2, 3, 7, 9, 10]].map(ranges)).toEqual(['', '4', '4, 5', '1–3, 7, 9, 10']);
});

it.each([
  [{ id: 'a.jsonl@0', payload: {}, position: 12_345 }, 'a.jsonl@0', '12,345'],
  [{ id: 'a', position: null }, 'a', 'its beginning'],
  [{ id: 'a', position: { offset: 1200, line: 3 } }, 'a', 'offset 1,200, line 3'],
  [{ id: 'a', position: [1, 'x'] }, 'a', '1, x'],
  ['odd', 'odd', ''],
  [{ path: 'b' }, '{"path":"b"}', 'its beginning'],
])('says where the source of %o goes on', (split, name, from) => expect(positionOf(split)).toEqual({ split: name, from }));

it('says what a plan is', () => {
  const preview = { checkpoint: 40 } as never;
  expect(titleOf({ kind: 'rollback', request: {}, preview })).toBe('Go back to checkpoint 40');
  expect(titleOf({ kind: 'undo', request: { plan: 3 }, preview })).toBe('Undo plan 3: return to checkpoint 40');
  expect(titleOf({ kind: 'upgrade', request: { spec: 2 }, preview })).toBe('Upgrade to version 2');
  expect(titleOf({ kind: 'rescale', request: { parallelism: 8 }, preview })).toBe('Rescale to a parallelism of 8');
  const elsewhere = { checkpoint: null, origin: '/srv/a' } as never;
  expect(titleOf({ kind: 'restore', request: { path: '/srv/a', checkpoint: null }, preview: elsewhere })).toBe('Restore from /srv/a');
  expect(titleOf({ kind: 'restore', request: { path: '/srv/a', checkpoint: 12 }, preview: elsewhere })).toBe('Restore from checkpoint 12 in /srv/a');
});

it('tells an upgrade without any state from beginning anew with the version that is there', () => {
  const preview = { checkpoint: null, anew: true } as never;
  const upgrade = { kind: 'upgrade', request: { spec: 3, spec_before: 2 }, preview } as const;
  const again = { kind: 'upgrade', request: { spec: 2, spec_before: 2 }, preview } as const;
  expect([titleOf(upgrade), verbOf(upgrade)]).toEqual(['Upgrade to version 3, without any state', 'Upgrade']);
  expect([titleOf(again), verbOf(again)]).toEqual(['Begin anew with version 2, without any state', 'Begin anew']);
  expect(verbOf({ kind: 'rollback', request: {}, preview: { checkpoint: 40 } as never })).toBe('Go back');
});

it('shows what was done, what is being done and what is to come', () => {
  const steps = [{ at: '2026-01-01T00:00:00Z', text: 'verifying' }, { at: '2026-01-01T00:00:01Z', text: 'stopping' }];
  const said = (plan: Parameters<typeof stagesOf>[0], state: 'RUNNING' | 'SUCCEEDED' | 'FAILED'): string[] => stagesOf(plan, { steps, state }).map(({ text, is }) => `${text}: ${is}`);
  expect(said({ state: 'APPLYING', phase: 'STOPPING' }, 'RUNNING')).toEqual(['verifying: done', 'stopping: now', 'starting the job: waiting']);
  expect(said({ state: 'APPLIED', phase: null }, 'SUCCEEDED')).toEqual(['verifying: done', 'stopping: done']);
  expect(said({ state: 'FAILED', phase: null }, 'FAILED')).toEqual(['verifying: done', 'stopping: failed']);
});

it('finds the plan that a run was begun for by its beginning and its time', () => {
  const at = (minute: number): string => `2026-01-01T00:0${minute}:00Z`;
  const plan = (id: number, approved: number | null, ended: number | null) => ({ id, preview: { checkpoint: 40 }, approved_at: approved === null ? null : at(approved), ended_at: ended === null ? null : at(ended) }) as never;
  const back = (number: number) => ({ at: 'checkpoint', number }) as const;
  const plans = [plan(3, 6, null), plan(2, 1, 4), plan(1, null, null)];
  expect(planOf({ created_at: at(2) }, back(40), plans)?.id).toBe(2);
  expect(planOf({ created_at: at(7) }, back(40), plans)?.id).toBe(3);
  expect(planOf({ created_at: at(5) }, back(40), plans)).toBeNull();
  expect(planOf({ created_at: at(2) }, back(41), plans)).toBeNull();

  const begun = (id: number, preview: object) => ({ id, preview: { checkpoint: null, origin: null, anew: false, ...preview }, approved_at: at(1), ended_at: at(4) }) as never;
  const others = [begun(6, { origin: '/srv/b' }), begun(5, { origin: '/srv/a' }), begun(4, { anew: true })];
  expect(planOf({ created_at: at(2) }, { at: 'elsewhere', path: '/srv/a', number: 12 }, others)?.id).toBe(5);
  expect(planOf({ created_at: at(2) }, { at: 'nothing' }, others)?.id).toBe(4);
  expect(planOf({ created_at: at(2) }, { at: 'nothing' }, plans)).toBeNull();
});

it('says which records are seen twice', () => {
  expect(twice({ abandoned: [] })).toEqual([]);
  expect(twice({ abandoned: [4, 5, 6], again: [3] })).toEqual([
    'what was committed with checkpoints 4–6, and what is until the job is stopped',
    'what was committed with checkpoint 3, as nobody knows whether it was handed on',
  ]);
});
