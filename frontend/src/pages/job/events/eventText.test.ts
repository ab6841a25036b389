import { describe, expect, it } from 'vitest';

import { eventText } from './eventText';

describe('event texts', () => {
  it.each([
    ['RunStateChanged', { state: 'FAILED', generation: 3, reason: 'slot 1 was lost', kind: 'SlotLost' }, 'FAILED, generation 3: slot 1 was lost'],
    ['CheckpointTriggered', { checkpoint: 9, trigger: 'periodic', subtasks: 8, generation: 1 }, 'checkpoint 9 (periodic), 8 subtasks'],
    ['CheckpointCompleted', { checkpoint: 9, end_to_end_ms: 84, state_bytes: 1_500_000 }, 'checkpoint 9 in 84 ms, 1.5 MB'],
    ['Recovered', { generation: 2, reason: '', took_ms: 4200 }, 'generation 2 is running after 4.2 s'],
    ['WarningReported', { generation: 2, reason: 'sink out could not revoke 3 records' }, 'generation 2: sink out could not revoke 3 records'],
    ['DesiredStateChanged', { desired_state: 'SUSPENDED', by: 'mira' }, 'desired state: suspended, by mira'],
    ['RunCreated', { run: 4, run_id: 9, cause: 'restart', spec: 2, start: { mode: 'resume' } }, 'run 4 (restart) with version 2'],
    ['RunCreated', { run: 4, run_id: 9, cause: 'rollback', spec: 2, start: { mode: 'from', checkpoint: 40 } }, 'run 4 (rollback) with version 2, from checkpoint 40'],
    ['RunCreated', { run: 4, run_id: 9, cause: 'upgrade', spec: 3, start: { mode: 'from', checkpoint: 0 } }, 'run 4 (upgrade) with version 3, without state'],
    ['RunCreated', { run: 5, run_id: 10, cause: 'start', spec: 3, start: { mode: 'resume', revoke_unknown_output: true } }, 'run 5 (start) with version 3, revokes unknown output'],
    ['RunCreated', { run: 4, run_id: 9, cause: 'restore', spec: 2, start: { mode: 'path', path: '/srv/a#12' } }, 'run 4 (restore) with version 2, from checkpoint 12 in /srv/a'],
    ['DriverHung', { run: 4, run_id: 9, host: 'b7', reason: 'no heartbeat for 60 s' }, 'killed the unresponsive driver of run 4: no heartbeat for 60 s'],
    ['ReassignmentBlocked', { run: 4, run_id: 9, host: 'b7', reason: 'no shared directory' }, 'cannot reassign run 4 from lost host b7: no shared directory'],
    ['RunEnded', { run: 4, run_id: 9, state: 'FAILED', reason: 'disk full' }, 'run 4: FAILED: disk full'],
    ['SpecCompiled', { spec: 3, state: 'INVALID', problem: 'no column speed' }, 'version 3 is invalid: no column speed'],
    ['PlanProposed', { plan: 7, plan_kind: 'rollback', by: 'mira' }, 'plan 7 (rollback), by mira'],
    ['PlanInspected', { plan: 7, intact: true, damage: null }, 'plan 7: no problem found'],
    ['PlanInspected', { plan: 7, intact: true, damage: null, incompatibility: "aggregate 'totals' has a different key" }, "plan 7 would fail: aggregate 'totals' has a different key"],
    ['PlanInspected', { plan: 7, intact: false, damage: 'a.bin is missing' }, 'plan 7 would fail: a.bin is missing'],
    ['PlanFailed', { plan: 7, problem: 'the job did not stop in time' }, 'plan 7: the job did not stop in time'],
    ['OperationEnded', { operation: 6, operation_kind: 'suspend', state: 'FAILED', problem: 'its driver has not stopped yet' }, 'operation 6 (suspend) failed: its driver has not stopped yet'],
    ['OperationEnded', { operation: 5, operation_kind: 'delete', state: 'SUCCEEDED' }, 'operation 5 (delete) succeeded'],
    ['AlertResolved', { alert: 5, rule: 'late', rule_kind: 'no-checkpoint', resolution: 'checkpoint 32 is completed' }, 'late: checkpoint 32 is completed'],
  ])('%s', (kind, fields, text) => expect(eventText({ kind, fields })).toBe(text));

  it('the text about an event of an unknown kind lists all its non-empty fields', () => {
    expect(eventText({ kind: 'MoonRose', fields: { plan_id: 4, kind: 'undo', problem: null, extra: { a: 1 } } })).toBe('plan id: 4, kind: undo, extra: {"a":1}');
  });
});
