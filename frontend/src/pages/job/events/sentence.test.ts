import { describe, expect, it } from 'vitest';

import { sentence } from './sentence';

describe('sentences of events', () => {
  it.each([
    ['RunStateChanged', { state: 'FAILED', generation: 3, reason: 'slot 1 was lost', kind: 'SlotLost' }, 'FAILED, generation 3: slot 1 was lost'],
    ['CheckpointTriggered', { checkpoint: 9, trigger: 'periodic', subtasks: 8, generation: 1 }, 'checkpoint 9 (periodic), 8 subtasks'],
    ['CheckpointCompleted', { checkpoint: 9, end_to_end_ms: 84, state_bytes: 1_500_000 }, 'checkpoint 9 in 84 ms, 1.5 MB'],
    ['Recovered', { generation: 2, reason: '', took_ms: 4200 }, 'generation 2 after 4.2 s'],
    ['StateWanted', { desired: 'SUSPENDED', by: 'mira' }, 'wanted: suspended, by mira'],
    ['RunBegun', { run: 4, run_id: 9, cause: 'restart', spec: 2, start: { mode: 'resume' } }, 'run 4 (restart) with version 2'],
    ['RunBegun', { run: 4, run_id: 9, cause: 'rollback', spec: 2, start: { mode: 'from', checkpoint: 40 } }, 'run 4 (rollback) with version 2, from checkpoint 40'],
    ['RunBegun', { run: 4, run_id: 9, cause: 'upgrade', spec: 3, start: { mode: 'from', checkpoint: 0 } }, 'run 4 (upgrade) with version 3, without any state'],
    ['RunBegun', { run: 4, run_id: 9, cause: 'restore', spec: 2, start: { mode: 'path', path: '/srv/a#12' } }, 'run 4 (restore) with version 2, from checkpoint 12 in /srv/a'],
    ['DriverHung', { run: 4, run_id: 9, host: 'b7', reason: 'nothing was heard' }, 'the driver of run 4 hangs, and is killed: nothing was heard'],
    ['RunStranded', { run: 4, run_id: 9, host: 'b7', reason: 'no shared directory' }, 'run 4 is not taken over from its silent machine b7: no shared directory'],
    ['RunEnded', { run: 4, run_id: 9, state: 'FAILED', reason: 'disk full' }, 'run 4: FAILED: disk full'],
    ['SpecCompiled', { spec: 3, state: 'INVALID', problem: 'no column speed' }, 'version 3 is invalid: no column speed'],
    ['PlanProposed', { plan: 7, kind_: 'rollback', by: 'mira' }, 'plan 7 (rollback), by mira'],
    ['PlanInspected', { plan: 7, whole: true, damage: null }, 'plan 7: a worker has looked into it'],
    ['PlanInspected', { plan: 7, whole: true, damage: null, misfit: 'operator totals has another key' }, 'plan 7: it would not work: operator totals has another key'],
    ['PlanInspected', { plan: 7, whole: false, damage: 'a.bin is missing' }, 'plan 7: it would not work: a.bin is missing'],
    ['PlanFailed', { plan: 7, problem: 'the job did not stop in time' }, 'plan 7: the job did not stop in time'],
    ['OperationEnded', { operation: 6, kind_: 'suspend', state: 'FAILED', problem: 'its driver has not stopped yet' }, 'suspend 6: failed: its driver has not stopped yet'],
    ['OperationEnded', { operation: 5, kind_: 'delete', state: 'SUCCEEDED' }, 'delete 5: succeeded'],
    ['AlertResolved', { alert: 5, rule: 'late', about: 'no-checkpoint', why: 'checkpoint 32 has completed' }, 'late: checkpoint 32 has completed'],
  ])('%s', (kind, fields, said) => expect(sentence({ kind, fields })).toBe(said));

  it('tells a kind that is new by its fields, without those that are empty', () => {
    expect(sentence({ kind: 'MoonRose', fields: { plan_id: 4, kind: 'undo', problem: null, extra: { a: 1 } } })).toBe('plan id: 4, kind: undo, extra: {"a":1}');
  });
});
