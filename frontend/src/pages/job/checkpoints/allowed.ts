/** What can be done with a checkpoint, and why not. The server has the last word: it knows of plans, and of other jobs in the same place. Pure. */
import type { Schemas } from '../../../api/types';
import { absolute } from '../../../format';
import { busyWith } from '../recovery/allowed';
import type { Job } from '../useJob';

type Checkpoint = Schemas['CheckpointBody'];
/** Null: it can be done. */
export type Why = string | null;
export interface Allowed {
  pin: Why;
  verify: Why;
  delete: Why;
}

export function allowed(one: Checkpoint, job: Pick<Job, 'desired_state' | 'state' | 'health' | 'run' | 'last_checkpoint'>, zone?: string): Allowed {
  const gone = missing(one, zone);
  return { pin: one.pinned ? null : gone, verify: gone, delete: gone ?? kept(one, job) };
}

/** Why there is nothing that anything could be done with. */
function missing({ state, discarded_at, leaving_at }: Checkpoint, zone?: string): Why {
  if (state === 'IN_PROGRESS') return 'It has not completed yet.';
  if (state === 'FAILED') return 'It has failed: there is nothing left of it.';
  if (discarded_at !== null) return `Its files are gone since ${absolute(discarded_at, zone)}.`;
  if (leaving_at !== null) return `It is being deleted since ${absolute(leaving_at, zone)}.`;
  return null;
}

/** Why it must stay, as far as this page knows. */
function kept(one: Checkpoint, { desired_state, state, health, run, last_checkpoint }: Parameters<typeof allowed>[1]): Why {
  if (run && run.ended_at === null) return `Run ${run.number} is not over: of a running job only its driver deletes. Suspend the job first.`;
  if (desired_state === 'RUNNING' && state !== 'FINISHED' && health !== 'needs a person') return 'The job is about to be started. Suspend it first.';
  if (one.pinned) return 'It is pinned. Let go of it first.';
  if (last_checkpoint?.number === one.number) return 'It is the newest completed one, with which the job would go on.';
  return null;
}

/** Why no savepoint can be taken now, nor a checkpoint out of turn. */
export function takeable(job: Pick<Job, 'run' | 'state' | 'operation'>): Why {
  const { run, state } = job;
  if (!run || run.ended_at !== null) return 'The job does not run.';
  return state === 'RUNNING' ? busyWith(job) : `The job is ${state.toLowerCase()}: it takes checkpoints once it runs.`;
}
