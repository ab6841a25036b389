/** Simulates plans, which are proposed, inspected and applied phase by phase. */
import type { Permission, Schemas } from '../api/types';
import { stateMismatch } from './specs';
import { inspectPath, checkPathAllowed } from './externalCheckpoints';
import { FakeProblem, iso, type FakeCheckpoint, type FakeJob } from './model';
import type { JobSimulator } from './jobSimulator';

type Plan = Schemas['PlanRead'];
type Operation = Schemas['OperationRead'];

const INSPECTION_MS = 900;
/** The simulated duration of each phase of a plan. */
const PHASE_MS = 1_500;
export const TEXT = { VERIFYING: 'verifying the files of the checkpoint', STOPPING: 'stopping the job', STARTING: 'starting the job', REVERTING: 'restoring the earlier version and desired state of the job' } as const;

const completed = (one: FakeJob, number: number): FakeCheckpoint | undefined => one.checkpoints.find(({ body }) => body.number === number && body.state === 'COMPLETED');
const newest = (one: FakeJob): number | null => one.checkpoints.find(({ body }) => body.state === 'COMPLETED')?.body.number ?? null;

/** Return a digest that changes when the preview of the plan changes. */
export function digestOf({ preview }: Plan): string {
  let hash = 0;
  for (const char of JSON.stringify(preview)) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return hash.toString(16).padStart(64, '0');
}

export function propose(simulator: JobSimulator, one: FakeJob, { request, dry_run }: Schemas['PlanCreate']): Plan | FakeProblem {
  let target: Schemas['CheckpointRead'] | null = null;
  let spec = one.job.spec_number;
  let undone: Plan | undefined;
  const without_state = request.kind === 'upgrade' && request.mode === 'stateless';
  const path = request.kind === 'restore' ? request.path.replace(/\/$/, '') : null;
  const refused = path === null ? null : checkPathAllowed(path);
  if (refused) return refused;
  if (request.kind === 'rollback' || request.kind === 'undo') {
    if (request.kind === 'undo') undone = one.plans.find(({ id }) => id === request.plan);
    const number = request.kind === 'rollback' ? request.checkpoint : undone?.safety_checkpoint;
    const found = number ? completed(one, number)?.body : undefined;
    if (!found) return new FakeProblem(404, 'no-checkpoint', `Job '${one.job.name}' has no completed checkpoint ${number}.`);
    if (found.discarded_at) return new FakeProblem(409, 'discarded', `The files of checkpoint ${number} were deleted.`, 'Choose another checkpoint.');
    if (found.damage) return new FakeProblem(409, 'damaged', `Checkpoint ${number} is damaged: ${found.damage}.`, 'Choose another checkpoint.');
    target = found;
    if (undone) spec = undone.request.spec_before as number;
  } else if (request.kind === 'upgrade') spec = request.spec;
  else if (request.kind === 'rescale') {
    const current = one.specs.find(({ number }) => number === one.job.spec_number)!;
    spec = Math.max(...one.specs.map(({ number }) => number)) + 1;
    if (!dry_run) one.specs.unshift({ ...current, id: simulator.id, number: spec, comment: `version ${current.number} with parallelism ${request.parallelism}`, created_at: iso(simulator.nowMs), body: { ...current.body, parallelism: request.parallelism } });
  }
  const cancels = request.kind === 'upgrade' && request.mode === 'last-state';
  const isRunning = one.job.run?.ended_at === null;
  const isRepeated = one.template.name === 'payments-fraud-score';
  const sinks = sinksOf(one);
  const plan: Plan = {
    id: dry_run ? null : simulator.id, job_id: one.job.id, kind: request.kind, state: 'PROPOSED', phase: null, job_version: one.job.version, digest: '', actions: [],
    request: { ...request, spec, spec_before: one.job.spec_number, desired_state_before: one.job.desired_state },
    preview: {
      checkpoint: target?.number ?? null, completed_at: target?.completed_at ?? null, age_s: target ? (simulator.nowMs - Date.parse(target.completed_at!)) / 1000 : null,
      state_bytes: target?.state_bytes ?? null, is_savepoint: target?.is_savepoint ?? false, path, without_state, stop_with: cancels ? 'Cancel' : 'Suspend',
      steps: [
        ...(target ? [`Verify the files of checkpoint ${target.number}. If a file is damaged, the job stays unchanged.`] : []),
        ...(path !== null ? [`Verify the files of the checkpoint in ${path}. If a file is damaged, the job stays unchanged.`] : []),
        ...(isRunning ? [cancels ? 'Stop the job at once, without a last checkpoint.' : 'Stop the job with a last checkpoint, which an undo can restore.'] : []),
        target ? `Start the job from checkpoint ${target.number}. Revocable sinks revoke the output that was committed after this checkpoint.`
        : path !== null ? 'Start the job from a copy of the external checkpoint. Revocable sinks revoke the committed output of this job.'
        : without_state ? `Start version ${spec} of the spec without state. Revocable sinks revoke committed output, and all input is read again.`
        : `Start version ${spec} of the spec from the newest checkpoint.`,
        `If the job does not start, restore its earlier version and desired state${one.job.desired_state === 'RUNNING' ? ', and resume it from its last checkpoint before the stop' : ''}.`,
      ],
      restarted_operators: one.template.graph.logical.operators.map(({ uid }) => uid), warnings: one.job.state === 'SUSPENDED' ? ['The job is not running. If you apply the plan, the job starts.'] : [],
      sinks_with_duplicates: isRepeated ? sinks.map(({ sink }) => sink) : [], inspection: null,
    },
    undo_of: undone?.id ?? null, safety_checkpoint: null, problem: null, operation_id: null, created_by: 1, approved_by: null,
    created_at: iso(simulator.nowMs), approved_at: null, ended_at: null,
  };
  if (!dry_run) {
    one.plans.unshift(plan);
    simulator.emit(one, 'PlanProposed', { plan: plan.id, plan_kind: plan.kind, by: 'admin' }, false);
  }
  return plan;
}

export function decide(simulator: JobSimulator, one: FakeJob, plan: Plan, verb: 'approve' | 'apply' | 'discard', permissions: readonly Permission[], digest: string | null): Plan | Operation | FakeProblem {
  if (verb === 'discard') {
    Object.assign(plan, { state: 'DISCARDED', ended_at: iso(simulator.nowMs) });
    simulator.emit(one, 'PlanDiscarded', { plan: plan.id }, false);
    return plan;
  }
  const { checkpoint, path, without_state, inspection } = plan.preview;
  const stored = checkpoint !== null || Boolean(path);
  if ((stored || without_state) && !permissions.includes('rollback')) return new FakeProblem(403, 'forbidden', "This needs the permission 'rollback'.", 'Ask an administrator for this permission.');
  if (plan.job_version !== one.job.version) return new FakeProblem(409, 'job-changed', `The job has changed since plan ${plan.id} was made.`, 'Propose a new plan.');
  if (verb === 'approve') {
    if (!inspection) return new FakeProblem(409, 'being-inspected', `A worker is still inspecting the checkpoint of plan ${plan.id}.`, 'Try again in a moment.');
    if (!inspection.intact) return new FakeProblem(409, 'damaged', `This plan would fail: ${inspection.damage}.`, 'Choose another checkpoint.');
    if (inspection.incompatibility) return new FakeProblem(409, 'incompatible', `This plan would fail: ${inspection.incompatibility}.`, 'Fix the incompatibility in a new version, or choose another checkpoint.');
    if (digest !== digestOf(plan)) return new FakeProblem(412, 'preview-changed', `The preview of plan ${plan.id} has changed since you opened it.`, 'Review it again.');
    Object.assign(plan, { state: 'APPROVED', approved_by: 1, approved_at: iso(simulator.nowMs) });
    simulator.emit(one, 'PlanApproved', { plan: plan.id }, false);
    return plan;
  }
  if (plan.state !== 'APPROVED') return new FakeProblem(409, 'plan-state', `Plan ${plan.id} is not approved.`, 'Approve it first.');
  const operation: Operation = {
    id: simulator.id, job_id: one.job.id, kind: 'apply-plan', state: 'RUNNING', request: { plan: plan.id }, result: null, problem: null,
    steps: [{ at: iso(simulator.nowMs), text: stored ? TEXT.VERIFYING : 'starting' }], created_by: 1,
    created_at: iso(simulator.nowMs), deadline_at: iso(simulator.nowMs + 1_800_000), ended_at: null,
  };
  one.operations.unshift(operation);
  one.job.operation = operation;
  one.job.version += 1;
  Object.assign(plan, { state: 'APPLYING', phase: 'VERIFYING', operation_id: operation.id });
  simulator.emit(one, 'PlanApplying', { plan: plan.id }, false);
  return operation;
}

/** Advance the inspections and the phases of a job's plans to the current simulated time. */
export function advancePlans(simulator: JobSimulator, one: FakeJob): void {
  for (const plan of one.plans) {
    if (plan.state === 'PROPOSED' && !plan.preview.inspection && simulator.nowMs - Date.parse(plan.created_at!) >= INSPECTION_MS) {
      const found = inspectionOf(simulator, one, plan);
      plan.preview.inspection = found;
      simulator.emit(one, 'PlanInspected', { plan: plan.id, intact: found.intact, damage: found.damage, incompatibility: found.incompatibility }, false);
    }
    if (plan.state === 'APPLYING') advancePhase(simulator, one, plan);
  }
}

function advancePhase(simulator: JobSimulator, one: FakeJob, plan: Plan): void {
  const operation = one.operations.find(({ id }) => id === plan.operation_id)!;
  const last = operation.steps.at(-1) as { at: string };
  if (simulator.nowMs - Date.parse(last.at) < PHASE_MS) return;
  if (plan.phase === 'STARTING') {
    Object.assign(plan, { state: 'APPLIED', phase: null, ended_at: iso(simulator.nowMs) });
    Object.assign(operation, { state: 'SUCCEEDED', ended_at: iso(simulator.nowMs), result: { plan: plan.id, safety_checkpoint: plan.safety_checkpoint } });
    one.job.operation = null;
    one.job.version += 1;
    simulator.emit(one, 'PlanApplied', { plan: plan.id }, false);
    return;
  }
  if (plan.phase === 'VERIFYING') {
    plan.phase = 'STOPPING';
    if (one.job.state === 'RUNNING') simulator.stopWithCheckpoint(one);
  } else {
    plan.phase = 'STARTING';
    plan.safety_checkpoint = newest(one);
    one.job.spec_number = plan.request.spec as number;
    simulator.startFrom(one, plan.kind, startOf(plan.preview));
  }
  operation.steps = [...operation.steps, { at: iso(simulator.nowMs), text: TEXT[plan.phase] }];
  simulator.emit(one, 'PlanPhaseChanged', { plan: plan.id, phase: plan.phase }, false);
}

/** Return the start mode of the run that a plan starts. */
function startOf({ checkpoint, path, without_state, inspection }: Plan['preview']): Schemas['RunRead']['start'] {
  if (path) return { mode: 'path', path: `${path}#${inspection!.external_checkpoint!.checkpoint}` };
  if (without_state) return { mode: 'from', checkpoint: 0 };
  return checkpoint === null ? { mode: 'resume' } : { mode: 'from', checkpoint };
}

const sinksOf = (one: FakeJob): Schemas['SinkEffect'][] =>
  one.template.graph.logical.operators
    .filter(({ kind }) => kind === 'sink')
    .map(({ uid }) => (one.template.name === 'payments-fraud-score' ? { sink: uid, kind: 'console', revocable: false } : { sink: uid, kind: 'parquet', revocable: true }));

/** Return the result of inspecting a plan's checkpoint. */
export function inspectionOf(simulator: JobSimulator, one: FakeJob, plan: Plan): Schemas['PlanInspection'] {
  const { checkpoint, state_bytes, path, without_state } = plan.preview;
  const nothing: Schemas['PlanInspection'] = { intact: true, damage: null, incompatibility: null, external_checkpoint: null, files: 0, bytes: 0, abandoned: [], reinstated: [], sources: [], sinks: sinksOf(one), notes: [] };
  const after = (number: number): number[] =>
    one.checkpoints.filter(({ body }) => body.state === 'COMPLETED' && body.discarded_at === null && body.run_id === one.job.run?.id && body.number > number).map(({ body }) => body.number).reverse();
  if (without_state) return { ...nothing, abandoned: after(0) };
  const spec = one.specs.find(({ number }) => number === plan.request.spec);
  const incompatibility = spec ? stateMismatch(simulator, spec) : null;
  if (path) {
    const found = { ...nothing, ...inspectPath(path, (plan.request.checkpoint as number | null | undefined) ?? null, simulator.nowMs) };
    if (!found.external_checkpoint) return found;
    return { ...found, incompatibility: found.incompatibility ?? incompatibility, files: 31, bytes: found.external_checkpoint.state_bytes, abandoned: after(0), sources: positionsAt(one, found.external_checkpoint.checkpoint) };
  }
  if (checkpoint === null) return { ...nothing, incompatibility };
  return {
    ...nothing, incompatibility, files: 24, bytes: state_bytes ?? 0, abandoned: after(checkpoint), reinstated: plan.kind === 'undo' ? [checkpoint] : [], sources: positionsAt(one, checkpoint),
  };
}

function positionsAt({ template }: FakeJob, checkpoint: number): Schemas['SourcePosition'][] {
  const sources = template.graph.logical.operators.filter(({ kind }) => kind === 'source');
  return sources.map(({ uid }, at) => ({
    source: uid,
    splits: Array.from({ length: 3 }, (_, split) => ({ id: `/data/in/${uid}/2026-11-${18 + split}.jsonl@0`, payload: {}, position: split === 2 ? null : { offset: checkpoint * 48_211 + at * 977 + split * 13, line: checkpoint * 611 + split } })),
  }));
}

/** How a job recovers if one of its slots fails now. */
export function coverageOf(one: FakeJob): Schemas['CoverageRead'] {
  const { graph } = one.template;
  if (one.job.state !== 'RUNNING') return { strategy: null, sentence: 'The job is not running.', checkpoint: null, exchanges: [], recoveries: 0, median_ms: null, max_ms: null };
  const exchanges = graph.edges
    .filter(({ partitioning }) => partitioning !== 'forward')
    .map(({ source, target }) => ({ source: graph.chains[source]!.operators.at(-1)!, target: graph.chains[target]!.operators[0]! }));
  const strategy = exchanges.length > 0 ? 'full' : 'regional';
  const checkpoint = newest(one);
  const restore = checkpoint === null ? 'start without state' : `restore checkpoint ${checkpoint}`;
  const [first] = exchanges;
  const sentence = first
    ? `All ${graph.slots} slots ${restore}, because slots exchange records from '${first.source}' to '${first.target}'${exchanges.length > 1 ? ', and between other operators' : ''}.`
    : `Only the failed slot ${restore.replace('start', 'starts').replace('restore', 'restores')}, and the other ${graph.slots - 1} slots continue.`;
  const downtimes = one.failures.filter(({ recovery }) => recovery === strategy).flatMap(({ downtime_ms }) => downtime_ms ?? []).slice(0, 20).sort((a, b) => a - b);
  return { strategy, sentence, checkpoint, exchanges, recoveries: downtimes.length, median_ms: downtimes[downtimes.length >> 1] ?? null, max_ms: downtimes.at(-1) ?? null };
}
