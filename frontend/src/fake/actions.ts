/** The actions and retention reasons of the fake API. This module implements only the rules that the simulation needs. */
import type { Permission, Schemas } from '../api/types';
import type { Installation } from './installation';
import type { FakeJob } from './model';
import { digestOf } from './plans';

type Action = Schemas['ActionRead'];
type Verb = Action['verb'];
type Job = Schemas['JobRead'];
type Checkpoint = Schemas['CheckpointRead'];
type Plan = Schemas['PlanRead'];
type Reason = string | null;

const PLAN_VALID_MS = 24 * 3_600_000;
const STOPPED = new Set<Job['state']>(['CREATED', 'FINISHED', 'SUSPENDED', 'CANCELED', 'FAILED']);

function toAction(verb: Verb, reason: Reason, permissions: readonly Permission[], needed: Permission = 'operate'): Action {
  const missing = (['operate', needed] as const).find((permission) => !permissions.includes(permission));
  const refusal = missing === undefined ? reason : `This needs the permission '${missing}'. Ask an administrator for this permission.`;
  return { verb, allowed: refusal === null, reason: refusal };
}

function applyingReason({ operation }: Job): Reason {
  const isApplying = operation?.kind === 'apply-plan' && operation.ended_at === null;
  return isApplying ? `Plan ${String(operation.request.plan)} is being applied to the job. Wait until it ends.` : null;
}

function jobActions(job: Job, permissions: readonly Permission[]): Action[] {
  const finished = job.state === 'FINISHED';
  const isRunning = job.desired_state === 'RUNNING' && !finished;
  const ended = `Job '${job.name}' has finished, because its input has ended.`;
  const invalid = job.spec_state === 'INVALID' ? `Version ${job.spec_number} is invalid. Upload a new version.` : null;
  const notRunning = job.state === 'RUNNING' ? null : STOPPED.has(job.state) ? `Job '${job.name}' is not running. Start the job first.` : `Job '${job.name}' is ${job.state.toLowerCase()}. Wait until the job is running.`;
  const offered: [Verb, boolean, Reason][] = [
    ['start', !isRunning || job.state === 'FAILED', finished ? `${ended} Deploy the job under another name to run it again.` : invalid],
    ['suspend', isRunning && job.state !== 'FAILED', null],
    ['cancel', isRunning || !STOPPED.has(job.state), null],
    ['savepoint', true, notRunning],
    ['checkpoint', true, notRunning],
    ['profile', true, notRunning],
    ['upgrade', true, null],
    ['rescale', true, finished ? ended : invalid],
    ['restore', true, invalid],
    ['start_without_state', true, job.run === null ? `Job '${job.name}' has not run yet. Start the job instead: the first start of a job restores no state.` : invalid],
    ['delete', true, isRunning || !STOPPED.has(job.state) ? `Job '${job.name}' is running. Suspend or cancel the job first.` : null],
  ];
  return offered.filter(([, isOffered]) => isOffered).map(([verb, , reason]) => toAction(verb, applyingReason(job) ?? reason, permissions));
}

function missingReason({ number, state, discarded_at }: Checkpoint): Reason {
  if (state === 'IN_PROGRESS') return `Checkpoint ${number} is not completed yet. Wait until the checkpoint is completed.`;
  if (state === 'FAILED') return `Checkpoint ${number} failed. Choose another checkpoint.`;
  return discarded_at === null ? null : `The files of checkpoint ${number} were deleted. Choose another checkpoint.`;
}

function rollBackReason(checkpoint: Checkpoint, job: Job): Reason {
  const { number, damage } = checkpoint;
  return missingReason(checkpoint) ?? (damage === null ? null : `Checkpoint ${number} is damaged: ${damage}. Choose another checkpoint.`) ?? applyingReason(job);
}

function deletionReason(checkpoint: Checkpoint, job: Job): Reason {
  if (job.run?.ended_at === null) return `Run ${job.run.number} is still running. Suspend the job first.`;
  if (checkpoint.pinned) return `Checkpoint ${checkpoint.number} is pinned. Unpin it first.`;
  return checkpoint.number === job.last_checkpoint?.number ? `The job resumes from checkpoint ${checkpoint.number}, because it is the newest.` : null;
}

function checkpointActions(checkpoint: Checkpoint, job: Job, permissions: readonly Permission[], userName: string): Action[] {
  const missing = missingReason(checkpoint);
  return [
    toAction('roll_back', rollBackReason(checkpoint, job), permissions),
    checkpoint.pins.some(({ name }) => name === userName) ? toAction('unpin', null, permissions) : toAction('pin', missing, permissions),
    toAction('verify', missing, permissions),
    toAction('delete', missing ?? deletionReason(checkpoint, job), permissions, checkpoint.is_savepoint ? 'rollback' : 'operate'),
  ];
}

function retentionReasons({ number, pins, is_savepoint, state, discarded_at }: Checkpoint, { job, runs }: FakeJob): string[] {
  if (state !== 'COMPLETED' || discarded_at !== null) return [];
  const reasons: string[] = [];
  if (number === job.last_checkpoint?.number) reasons.push('The job resumes from this checkpoint, because it is the newest.');
  for (const { name, reason } of pins) reasons.push(`This checkpoint is pinned by ${name}${reason && `: ${reason}`}.`);
  if (runs.some(({ start }) => start.mode === 'from' && start.checkpoint === number)) reasons.push('An abandoned branch starts at this checkpoint.');
  if (is_savepoint) reasons.push('This checkpoint is a savepoint, so it stays until a user deletes it.');
  return reasons;
}

function planActions(plan: Plan, { job, plans, checkpoints }: FakeJob, permissions: readonly Permission[], nowMs: number): Action[] {
  const { checkpoint, path, inspection } = plan.preview;
  const needed = checkpoint !== null || path || plan.preview.without_state ? 'rollback' : 'operate';
  const stale = plan.job_version !== job.version ? `The job has changed since plan ${plan.id} was made. Propose a new plan.` : nowMs - Date.parse(plan.created_at!) > PLAN_VALID_MS ? `Plan ${plan.id} is older than 24 hours. Propose a new plan.` : null;
  const problem = inspection && (inspection.intact ? inspection.incompatibility : inspection.damage);
  const inspected = inspection === null ? `A worker is still inspecting the checkpoint of plan ${plan.id}. Try again in a moment.` : problem ? `This plan would fail: ${problem}. Fix the incompatibility in a new version, or choose another checkpoint.` : null;
  const safety = checkpoints.find(({ body }) => body.number === plan.safety_checkpoint)?.body;
  const isUndone = plans.some(({ kind, undo_of, state }) => kind === 'undo' && undo_of === plan.id && state === 'APPLIED');
  switch (plan.state) {
    case 'PROPOSED':
      return [toAction('approve', stale ?? inspected, permissions, needed), toAction('apply', `Plan ${plan.id} is not approved. Approve it first.`, permissions, needed), toAction('discard', null, permissions)];
    case 'APPROVED':
      return [toAction('apply', applyingReason(job) ?? stale, permissions, needed), toAction('discard', null, permissions)];
    case 'APPLIED':
      return [toAction('undo', safety === undefined ? `The job had no checkpoint when plan ${plan.id} was applied.` : isUndone ? `Plan ${plan.id} is already undone.` : rollBackReason(safety, job), permissions)];
    default:
      return [];
  }
}

/** Add `actions`, `kept_because` and the digests of plans to the response of any route. */
export async function withActions(response: Response, installation: Installation, permissions: readonly Permission[], userName: string): Promise<Response> {
  if (!response.ok || !response.headers.get('Content-Type')?.startsWith('application/json')) return response;
  const fill = (row: unknown): unknown => {
    if (typeof row !== 'object' || row === null || !('actions' in row)) return row;
    const one = installation.jobs.find(({ job }) => job.id === ('job_id' in row ? row.job_id : (row as { id?: unknown }).id));
    if (!one) return row;
    if ('kept_because' in row) return { ...row, actions: checkpointActions(row as Checkpoint, one.job, permissions, userName), kept_because: retentionReasons(row as Checkpoint, one) };
    if ('preview' in row) return { ...row, digest: digestOf(row as Plan), actions: planActions(row as Plan, one, permissions, installation.nowMs) };
    return { ...row, actions: jobActions(row as Job, permissions) };
  };
  const body: unknown = await response.json();
  return Response.json(Array.isArray(body) ? body.map(fill) : fill(body), { status: response.status, headers: response.headers });
}
