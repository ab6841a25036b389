/** Adds past plans to a fake job. */
import type { Schemas } from '../api/types';
import { iso, pinOf, type FakeJob } from './model';
import { inspectionOf, propose, TEXT } from './plans';
import type { JobSimulator } from './jobSimulator';

type Plan = Schemas['PlanRead'];
type Operation = Schemas['OperationRead'];

/** Add a rollback to checkpoint 40, the undo of this rollback, and the checkpoints of the abandoned branch. */
export function addPlanHistory(simulator: JobSimulator, one: FakeJob): void {
  const [run] = one.runs;
  if (!run || one.checkpoints.length < 60) return;
  const atMs = (number: number): number => Date.parse(completedOr(one, number)) + 2_000;
  const pastRun = (number: number, from: number | null, cause: string, firstMs: number, lastMs: number): Schemas['RunRead'] => ({
    ...run, id: simulator.id, number, cause, state: 'SUSPENDED', start: from === null ? { mode: 'resume' } : { mode: 'from', checkpoint: from },
    created_at: iso(firstMs), submitted_at: iso(firstMs + 200), running_at: iso(firstMs + 4_000), ended_at: iso(lastMs),
  });
  const first = one.runs.find(({ number }) => number === 1);
  const second = pastRun(2, null, 'restart', atMs(1) - 30_000, atMs(46));
  const third = pastRun(3, 40, 'rollback', atMs(46) + 500, atMs(52));
  Object.assign(run, { number: 4, cause: 'undo', start: { mode: 'from', checkpoint: 46 }, created_at: iso(atMs(52) + 500), running_at: iso(atMs(52) + 4_000) });
  one.job.run!.number = 4;
  one.runs = [run, third, second, ...(first ? [first] : [])];
  const retained = new Set([25, 40, 44, 45, 46, 50, 52]);
  for (const { body } of one.checkpoints) {
    if (body.number <= 46) body.run_id = second.id;
    else if (body.number <= 52) body.run_id = third.id;
    if (body.state === 'COMPLETED') body.discarded_at = retained.has(body.number) || body.number > 56 ? null : iso(atMs(body.number) + 60_000);
    if (body.number === 40) Object.assign(body, { pinned: true, pinned_reason: 'before the new carriers', pins: [pinOf('admin', 'before the new carriers', simulator.nowMs)], pin_in_force: true });
    if (body.number === 45) Object.assign(body, { damage: 'state/by_route-2.bin has 1,204 bytes; the manifest records 1,311', verified_at: iso(simulator.nowMs - 3_600_000) });
  }
  const addPlan = (kind: 'rollback' | 'undo', target: number, safety: number, startMs: number, undoOf: number | null): Plan => {
    const plan = propose(simulator, one, { request: kind === 'rollback' ? { kind, checkpoint: target } : { kind, plan: undoOf! }, dry_run: true }) as Plan;
    const id = simulator.id;
    const operation: Operation = {
      id: simulator.id, job_id: one.job.id, kind: 'apply-plan', state: 'SUCCEEDED', request: { plan: id }, result: { plan: id, safety_checkpoint: safety }, problem: null,
      steps: (['VERIFYING', 'STOPPING', 'STARTING'] as const).map((phase, at) => ({ at: iso(startMs - 2_000 + at * 1_400), text: TEXT[phase] })),
      created_by: 1, created_at: iso(startMs - 2_000), deadline_at: iso(startMs + 1_800_000), ended_at: iso(startMs + 5_000),
    };
    one.operations.push(operation);
    Object.assign(plan, { id, state: 'APPLIED', safety_checkpoint: safety, undo_of: undoOf, operation_id: operation.id, created_at: iso(startMs - 40_000), approved_at: iso(startMs - 3_000), ended_at: iso(startMs + 5_000), approved_by: 1 });
    plan.preview.inspection = inspectionOf(simulator, one, plan);
    one.plans.unshift(plan);
    return plan;
  };
  const back = addPlan('rollback', 40, 46, Date.parse(third.created_at), null);
  addPlan('undo', 46, 52, Date.parse(run.created_at), back.id);
}

const completedOr = (one: FakeJob, number: number): string => {
  const { body } = one.checkpoints.find((found) => found.body.number === number)!;
  return body.completed_at ?? body.failed_at!;
};
