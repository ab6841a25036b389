/** Describes plans, the positions of splits, and the steps of plans as text. Pure. */
import type { Schemas } from '../../../api/types';

type Plan = Schemas['PlanRead'];
type Operation = Schemas['OperationRead'];

export function planTitle({ kind, request, preview }: Pick<Plan, 'kind' | 'request' | 'preview'>): string {
  const version = typeof request.spec === 'number' ? ` ${request.spec}` : '';
  switch (kind) {
    case 'rollback':
      return `Roll back to checkpoint ${preview.checkpoint}`;
    case 'undo':
      return `Undo plan ${String(request.plan)}: return to checkpoint ${preview.checkpoint}`;
    case 'upgrade':
      if (!preview.without_state) return `Upgrade to version${version}`;
      return isSameVersion(request) ? `Start version${version} without state` : `Upgrade to version${version} without state`;
    case 'rescale':
      return `Rescale to parallelism ${String(request.parallelism)}`;
    case 'restore':
      return `Restore from ${typeof request.checkpoint === 'number' ? `checkpoint ${request.checkpoint} in ` : ''}${preview.path ?? 'a path'}`;
  }
}

/** Return whether a plan keeps the version of the job. A plan to start a job without state is an upgrade plan that keeps the version. */
const isSameVersion = (request: Plan['request']): boolean => request.spec === request.spec_before;

const APPLY_LABELS: Record<Plan['kind'], string> = { rollback: 'Roll back', undo: 'Undo plan', upgrade: 'Upgrade', rescale: 'Rescale', restore: 'Restore' };

/** Return the label of the button that applies the plan. */
export function applyLabel({ kind, preview, request }: Pick<Plan, 'kind' | 'preview' | 'request'>): string {
  return preview.without_state && isSameVersion(request) ? 'Start without state' : APPLY_LABELS[kind];
}

/** Return whether the plan restores a stored checkpoint. A worker verifies the files of this checkpoint before the plan is applied. */
export const isInStorage = ({ preview }: Pick<Plan, 'preview'>): boolean => preview.checkpoint !== null || Boolean(preview.path);

/** Return whether the plan revokes committed output. With all other plans, the job resumes from its last checkpoint. */
export const revokesOutput = (plan: Pick<Plan, 'preview'>): boolean => isInStorage(plan) || plan.preview.without_state === true;

/** Return the damage or the incompatibility that the inspection has found, or null if there is no problem. */
export const inspectionProblem = ({ preview: { inspection } }: Pick<Plan, 'preview'>): string | null =>
  inspection && (inspection.intact ? (inspection.incompatibility ?? null) : (inspection.damage ?? 'the checkpoint is damaged'));

interface Position {
  split: string;
  from: string;
}

/** Return a split and its position as text. The API returns splits as `{id, payload, position}`. The format of the position depends on the source. */
export function splitPosition(split: unknown): Position {
  if (typeof split !== 'object' || split === null) return { split: String(split), from: '' };
  const { id, position } = split as { id?: unknown; position?: unknown };
  return { split: typeof id === 'string' ? id : JSON.stringify(split), from: position === null || position === undefined ? 'the beginning' : positionText(position) };
}

function positionText(position: unknown): string {
  if (typeof position !== 'object' || position === null) return typeof position === 'number' ? position.toLocaleString('en-US') : String(position);
  if (Array.isArray(position)) return position.map(positionText).join(', ');
  return Object.entries(position).map(([name, value]) => `${name} ${positionText(value)}`).join(', ');
}

/** Join ascending numbers into ranges, such as `41–44, 47`. */
export function ranges(numbers: readonly number[]): string {
  const result: [number, number][] = [];
  for (const number of numbers) {
    const last = result.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else result.push([number, number]);
  }
  return result.map(([first, last]) => (first === last ? String(first) : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`)).join(', ');
}

export interface Stage {
  text: string;
  status: 'done' | 'running' | 'failed' | 'pending';
  at: string | null;
}

const PENDING_STEPS: Record<NonNullable<Plan['phase']>, readonly string[]> = {
  VERIFYING: ['stopping the job', 'starting the job'],
  STOPPING: ['starting the job'],
  STARTING: [],
  REVERTING: [],
};

/** Return the completed steps, the running step and the pending steps. */
export function planStages(plan: Pick<Plan, 'phase' | 'state'>, { steps, state }: Pick<Operation, 'steps' | 'state'>): Stage[] {
  const reported = (steps as { at?: string; text?: string }[]).filter(({ text }) => typeof text === 'string');
  const ended = state !== 'PENDING' && state !== 'RUNNING';
  const done = reported.map(({ at, text }, index): Stage => {
    const last = index === reported.length - 1;
    return { text: text!, at: at ?? null, status: !last ? 'done' : !ended ? 'running' : state === 'SUCCEEDED' ? 'done' : 'failed' };
  });
  const pending = ended || plan.phase === null ? [] : PENDING_STEPS[plan.phase];
  return [...done, ...pending.map((text): Stage => ({ text, status: 'pending', at: null }))];
}

export const checkpointNumbers = (checkpoints: readonly number[]): string => `${checkpoints.length === 1 ? 'checkpoint' : 'checkpoints'} ${ranges(checkpoints)}`;

/** Describe the output that readers see twice after a rollback if a sink cannot revoke output. */
export function duplicatedRecords({ abandoned, recommitted = [] }: Pick<Schemas['PlanInspection'], 'abandoned' | 'recommitted'>): string[] {
  const result: string[] = [];
  if (abandoned.length > 0) result.push(`output committed with ${checkpointNumbers(abandoned)}, and output committed until the job stops`);
  if (recommitted.length > 0) result.push(`output committed with ${checkpointNumbers(recommitted)}, because Weir does not know whether it was published`);
  return result;
}
