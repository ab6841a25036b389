/** Plans, positions and steps in words. Pure. */
import type { Schemas } from '../../../api/types';

type Plan = Schemas['PlanShown'];
type Operation = Schemas['OperationShown'];

export function titleOf({ kind, request, preview }: Pick<Plan, 'kind' | 'request' | 'preview'>): string {
  const version = typeof request.spec === 'number' ? ` ${request.spec}` : '';
  switch (kind) {
    case 'rollback':
      return `Go back to checkpoint ${preview.checkpoint}`;
    case 'undo':
      return `Undo plan ${String(request.plan)}: return to checkpoint ${preview.checkpoint}`;
    case 'upgrade':
      if (!preview.anew) return `Upgrade to version${version}`;
      return isAsItIs(request) ? `Begin anew with version${version}, without any state` : `Upgrade to version${version}, without any state`;
    case 'rescale':
      return `Rescale to a parallelism of ${String(request.parallelism)}`;
    case 'restore':
      return `Restore from ${typeof request.checkpoint === 'number' ? `checkpoint ${request.checkpoint} in ` : ''}${preview.origin ?? 'a path'}`;
  }
}

/** An upgrade to the version that is in force already, for the sake of beginning anew. */
const isAsItIs = (request: Plan['request']): boolean => request.spec === request.spec_before;

const VERB: Record<Plan['kind'], string> = { rollback: 'Go back', undo: 'Undo it', upgrade: 'Upgrade', rescale: 'Rescale', restore: 'Restore' };

/** What the button says that has it done. */
export function verbOf({ kind, preview, request }: Pick<Plan, 'kind' | 'preview' | 'request'>): string {
  return preview.anew && isAsItIs(request) ? 'Begin anew' : VERB[kind];
}

export interface Position {
  split: string;
  from: string;
}

/** A source's split as the API tells it: `{id, payload, position}`, the position as the source itself writes it. */
export function positionOf(split: unknown): Position {
  if (typeof split !== 'object' || split === null) return { split: String(split), from: '' };
  const { id, position } = split as { id?: unknown; position?: unknown };
  return { split: typeof id === 'string' ? id : JSON.stringify(split), from: position === null || position === undefined ? 'its beginning' : inWords(position) };
}

function inWords(position: unknown): string {
  if (typeof position !== 'object' || position === null) return typeof position === 'number' ? position.toLocaleString('en-US') : String(position);
  if (Array.isArray(position)) return position.map(inWords).join(', ');
  return Object.entries(position).map(([name, value]) => `${name} ${inWords(value)}`).join(', ');
}

/** 41–44, 47. Of numbers in ascending order. */
export function ranges(numbers: readonly number[]): string {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? String(first) : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`)).join(', ');
}

export interface Stage {
  text: string;
  is: 'done' | 'now' | 'failed' | 'waiting';
  at: string | null;
}

const STILL: Record<NonNullable<Plan['phase']>, readonly string[]> = {
  VERIFYING: ['stopping the job', 'starting the job'],
  STOPPING: ['starting the job'],
  STARTING: [],
  RETURNING: [],
};

/** What was done so far, what is being done, and what is to come. */
export function stagesOf(plan: Pick<Plan, 'phase' | 'state'>, { steps, state }: Pick<Operation, 'steps' | 'state'>): Stage[] {
  const told = (steps as { at?: string; text?: string }[]).filter(({ text }) => typeof text === 'string');
  const over = state !== 'PENDING' && state !== 'RUNNING';
  const done = told.map(({ at, text }, index): Stage => {
    const last = index === told.length - 1;
    return { text: text!, at: at ?? null, is: !last ? 'done' : !over ? 'now' : state === 'SUCCEEDED' ? 'done' : 'failed' };
  });
  const still = over || plan.phase === null ? [] : STILL[plan.phase];
  return [...done, ...still.map((text): Stage => ({ text, is: 'waiting', at: null }))];
}

export const numbered = (checkpoints: readonly number[]): string => `${checkpoints.length === 1 ? 'checkpoint' : 'checkpoints'} ${ranges(checkpoints)}`;

/** Which records readers of a sink see twice that takes nothing back. Of a plan that goes on from where the job is stopped a warning says so. */
export function twice({ abandoned, again = [] }: Pick<Schemas['Inspection'], 'abandoned' | 'again'>): string[] {
  const found: string[] = [];
  if (abandoned.length > 0) found.push(`what was committed with ${numbered(abandoned)}, and what is until the job is stopped`);
  if (again.length > 0) found.push(`what was committed with ${numbered(again)}, as nobody knows whether it was handed on`);
  return found;
}
