/** What may be done about recovery, and if not, why: a sentence that is shown. Pure. The API judges again. */
import type { Permission, Schemas } from '../../../api/types';
import { absolute } from '../../../format';
import { isUndone, PLAN_VALID_MS } from './kept';
import type { Checkpoint } from './lineage';

type Plan = Schemas['PlanShown'];
type Job = Schemas['JobShown'];

/** Null: it may be done. */
export type Obstacle = string | null;

export function busyWith({ operation }: Pick<Job, 'operation'>): Obstacle {
  if (operation?.kind !== 'apply-plan' || operation.ended_at !== null) return null;
  const plan = operation.request.plan;
  return `Plan ${typeof plan === 'number' ? plan : ''} is being applied to this job: wait until it is over.`.replace('  ', ' ');
}

function whyNotUsable({ number, state, discarded_at, leaving_at, damage, failure }: Checkpoint): Obstacle {
  if (state === 'FAILED') return `Checkpoint ${number} has failed${failure ? `: ${failure}` : ''}.`;
  if (state === 'IN_PROGRESS') return `Checkpoint ${number} is not complete yet.`;
  if (discarded_at !== null) return `The files of checkpoint ${number} are gone since ${absolute(discarded_at)}: choose another one.`;
  if (leaving_at !== null) return `Checkpoint ${number} is being deleted since ${absolute(leaving_at)}: choose another one.`;
  if (damage !== null) return `Checkpoint ${number} is damaged: ${damage}. Choose another one, or bring the file back and verify it.`;
  return null;
}

/** Of a job whose code is not there yet nothing can be run. */
export function whyNotCompiled({ spec_state }: Pick<Job, 'spec_state'>): Obstacle {
  if (spec_state === 'INVALID') return 'Its code does not compile: give it a new version.';
  return spec_state === 'COMPILING' ? 'Its code is still being compiled.' : null;
}

/** To go on from a checkpoint that is somewhere else. */
export function whyNotRestore(job: Pick<Job, 'operation' | 'spec_state'>): Obstacle {
  return whyNotCompiled(job) ?? busyWith(job);
}

/** To begin without any state. */
export function whyNotAnew(job: Pick<Job, 'operation' | 'spec_state' | 'run'>): Obstacle {
  if (job.run === null) return 'It has not run yet: it begins without any state when it is started.';
  return whyNotRestore(job);
}

/** Plans to go back to it: everybody who operates may propose one. */
export function whyNotBackTo(checkpoint: Checkpoint, job: Pick<Job, 'operation'>): Obstacle {
  return whyNotUsable(checkpoint) ?? busyWith(job);
}

/** `safety`: what the job was stopped with for the plan. Undefined: not known yet; null: nothing is known of it any more. */
export function whyNotUndo(plan: Plan, plans: readonly Plan[], safety: Checkpoint | null | undefined, job: Pick<Job, 'operation'>): Obstacle {
  if (plan.state !== 'APPLIED') return `Plan ${plan.id} was not applied, so there is nothing to undo.`;
  if (plan.safety_checkpoint === null) return `The job had no checkpoint when plan ${plan.id} was applied: there is nothing to return to.`;
  if (isUndone(plan, plans)) return `Plan ${plan.id} was undone already.`;
  if (safety === null) return `The files of checkpoint ${plan.safety_checkpoint} are gone: there is nothing to return to.`;
  return (safety && whyNotUsable(safety)) ?? busyWith(job);
}

export interface Agreement {
  job: Pick<Job, 'version' | 'operation' | 'name'>;
  permissions: readonly Permission[];
  nowMs: number;
}

type Previewed = Pick<Plan, 'preview'>;

/** The files of a checkpoint are read before anything is done. */
export const isInStorage = ({ preview }: Previewed): boolean => preview.checkpoint !== null || Boolean(preview.origin);

/** What was committed is taken back. Otherwise the job goes on from where it is stopped. */
export const goesBack = (plan: Previewed): boolean => isInStorage(plan) || plan.preview.anew === true;

/** What a worker has found that stands in the way; the preview says it. */
export function whyNotWorking({ preview: { inspection, origin } }: Previewed): Obstacle {
  if (inspection === null) return null;
  const another = origin ? 'Choose another one, or another path.' : 'Choose another checkpoint.';
  if (!inspection.whole) return `It would not work: ${inspection.damage ?? 'the checkpoint is damaged'}. ${another}`;
  return inspection.misfit ? `It would not work: ${inspection.misfit}. Mend that in a new version, or choose another checkpoint.` : null;
}

/** To approve what the plan says, and have it done. What has to be typed and ticked is beside this. */
export function whyNotApply(plan: Plan, { job, permissions, nowMs }: Agreement): Obstacle {
  if (plan.state !== 'PROPOSED' && plan.state !== 'APPROVED') return `The plan is ${plan.state.toLowerCase()}.`;
  if (goesBack(plan) && !permissions.includes('rollback'))
    return "Going back needs the permission 'rollback', which you do not have. Whoever has it can open this page and confirm the plan.";
  const { inspection } = plan.preview;
  if (inspection === null) return 'A worker is still looking at the checkpoint.';
  const found = whyNotWorking(plan);
  if (found) return found;
  if (plan.created_at !== null && nowMs - Date.parse(plan.created_at) > PLAN_VALID_MS) return 'The plan is older than a day: propose it anew.';
  const busy = busyWith(job);
  if (busy) return busy;
  if (plan.job_version !== job.version) return 'The job has changed since this plan was made: propose it anew.';
  return null;
}
