import { expect, it } from 'vitest';

import { planOfRun } from './lineage';
import { applyLabel, duplicatedRecords, planStages, planTitle, ranges, splitPosition } from './planText';

it('consecutive numbers are joined into ranges', () => {
  expect([[], [4], [4, 5], [1, 2, 3, 7, 9, 10]].map(ranges)).toEqual(['', '4', '4, 5', '1–3, 7, 9, 10']);
});

it.each([
  [{ id: 'a.jsonl@0', payload: {}, position: 12_345 }, 'a.jsonl@0', '12,345'],
  [{ id: 'a', position: null }, 'a', 'the beginning'],
  [{ id: 'a', position: { offset: 1200, line: 3 } }, 'a', 'offset 1,200, line 3'],
  [{ id: 'a', position: [1, 'x'] }, 'a', '1, x'],
  ['odd', 'odd', ''],
  [{ path: 'b' }, '{"path":"b"}', 'the beginning'],
])('describes the position of split %o', (split, name, from) => expect(splitPosition(split)).toEqual({ split: name, from }));

it('the title of a plan names its kind and its target', () => {
  const preview = { checkpoint: 40 } as never;
  expect(planTitle({ kind: 'rollback', request: {}, preview })).toBe('Roll back to checkpoint 40');
  expect(planTitle({ kind: 'undo', request: { plan: 3 }, preview })).toBe('Undo plan 3: return to checkpoint 40');
  expect(planTitle({ kind: 'upgrade', request: { spec: 2 }, preview })).toBe('Upgrade to version 2');
  expect(planTitle({ kind: 'rescale', request: { parallelism: 8 }, preview })).toBe('Rescale to parallelism 8');
  const external = { checkpoint: null, path: '/srv/a' } as never;
  expect(planTitle({ kind: 'restore', request: { path: '/srv/a', checkpoint: null }, preview: external })).toBe('Restore from /srv/a');
  expect(planTitle({ kind: 'restore', request: { path: '/srv/a', checkpoint: 12 }, preview: external })).toBe('Restore from checkpoint 12 in /srv/a');
});

it('the title and the button say whether a plan without state upgrades the job or starts the current version', () => {
  const preview = { checkpoint: null, without_state: true } as never;
  const upgrade = { kind: 'upgrade', request: { spec: 3, spec_before: 2 }, preview } as const;
  const same = { kind: 'upgrade', request: { spec: 2, spec_before: 2 }, preview } as const;
  expect([planTitle(upgrade), applyLabel(upgrade)]).toEqual(['Upgrade to version 3 without state', 'Upgrade']);
  expect([planTitle(same), applyLabel(same)]).toEqual(['Start version 2 without state', 'Start without state']);
  expect(applyLabel({ kind: 'rollback', request: {}, preview: { checkpoint: 40 } as never })).toBe('Roll back');
});

it('each step of a plan is done, running, pending or failed', () => {
  const steps = [{ at: '2026-01-01T00:00:00Z', text: 'verifying' }, { at: '2026-01-01T00:00:01Z', text: 'stopping' }];
  const stages = (plan: Parameters<typeof planStages>[0], state: 'RUNNING' | 'SUCCEEDED' | 'FAILED'): string[] => planStages(plan, { steps, state }).map(({ text, status }) => `${text}: ${status}`);
  expect(stages({ state: 'APPLYING', phase: 'STOPPING' }, 'RUNNING')).toEqual(['verifying: done', 'stopping: running', 'starting the job: pending']);
  expect(stages({ state: 'APPLIED', phase: null }, 'SUCCEEDED')).toEqual(['verifying: done', 'stopping: done']);
  expect(stages({ state: 'FAILED', phase: null }, 'FAILED')).toEqual(['verifying: done', 'stopping: failed']);
});

it('the plan that started a run has the restore origin of the run, and was being applied when the run was created', () => {
  const at = (minute: number): string => `2026-01-01T00:0${minute}:00Z`;
  const plan = (id: number, approved: number | null, ended: number | null) => ({ id, preview: { checkpoint: 40 }, approved_at: approved === null ? null : at(approved), ended_at: ended === null ? null : at(ended) }) as never;
  const back = (number: number) => ({ at: 'checkpoint', number }) as const;
  const plans = [plan(3, 6, null), plan(2, 1, 4), plan(1, null, null)];
  expect(planOfRun({ created_at: at(2) }, back(40), plans)?.id).toBe(2);
  expect(planOfRun({ created_at: at(7) }, back(40), plans)?.id).toBe(3);
  expect(planOfRun({ created_at: at(5) }, back(40), plans)).toBeNull();
  expect(planOfRun({ created_at: at(2) }, back(41), plans)).toBeNull();

  const started = (id: number, preview: object) => ({ id, preview: { checkpoint: null, path: null, without_state: false, ...preview }, approved_at: at(1), ended_at: at(4) }) as never;
  const others = [started(6, { path: '/srv/b' }), started(5, { path: '/srv/a' }), started(4, { without_state: true })];
  expect(planOfRun({ created_at: at(2) }, { at: 'external', path: '/srv/a', number: 12 }, others)?.id).toBe(5);
  expect(planOfRun({ created_at: at(2) }, { at: 'none' }, others)?.id).toBe(4);
  expect(planOfRun({ created_at: at(2) }, { at: 'none' }, plans)).toBeNull();
});

it('the output that readers see twice is described by checkpoint numbers', () => {
  expect(duplicatedRecords({ abandoned: [] })).toEqual([]);
  expect(duplicatedRecords({ abandoned: [4, 5, 6], recommitted: [3] })).toEqual([
    'output committed with checkpoints 4–6, and output committed until the job stops',
    'output committed with checkpoint 3, because Weir does not know whether it was published',
  ]);
});
