/** Why the files of a checkpoint are still there, as far as the control plane knows. Pure; the rules are in docs/control-plane.md, "What is kept". */
import type { Schemas } from '../../../api/types';
import type { Checkpoint, Lineage } from './lineage';

type Plan = Schemas['PlanShown'];

export interface Around {
  lineage: Pick<Lineage, 'newest' | 'branchPoints'>;
  plans: readonly Plan[];
  /** How many the job keeps by itself; null: not known yet. */
  retained: number | null;
  /** How many newer ones of the current line are kept. */
  newer: number;
  current: boolean;
  nowMs: number;
}

/** An approval of yesterday says nothing about today. */
export const PLAN_VALID_MS = 24 * 3_600_000;

/** The strongest reason first; none: it may go at any time. */
export function whyKept(one: Checkpoint, { lineage, plans, retained, newer, current, nowMs }: Around): string[] {
  const found: string[] = [];
  if (one.number === lineage.newest) found.push('the newest: the job would go on with it');
  if (one.pinned) found.push(`pinned${one.pinned_reason ? `: ${one.pinned_reason}` : ''}${one.pin_in_force ? '' : ' (not in force yet)'}`);
  // A pin that a plan has set (backend/weir_backend/recovery/carrying_out.py) says so itself.
  const others = plans.filter(({ id }) => one.pinned_reason !== `an undo of plan ${id} would return to it`);
  found.push(...others.flatMap((plan) => ofPlan(plan, one.number, plans, nowMs)));
  if (lineage.branchPoints.has(one.number)) found.push('what was left behind branches off here');
  if (one.is_savepoint || !current) found.push(`${[one.is_savepoint ? 'a savepoint' : '', current ? '' : 'left behind by going back'].filter(Boolean).join(', ')}: it stays until somebody deletes it`);
  if (current && one.number !== lineage.newest && retained !== null && newer < retained) found.push(`one of the newest ${retained}`);
  return found;
}

/** By number, of all that a tree shows. */
export function reasonsOf(lineage: Lineage, around: Pick<Around, 'plans' | 'retained' | 'nowMs'>): Map<number, string[]> {
  const found = new Map<number, string[]>();
  let newer = 0;
  for (const row of lineage.rows) {
    if (row.kind !== 'checkpoint') continue;
    found.set(row.checkpoint.number, whyKept(row.checkpoint, { ...around, lineage, newer, current: row.current }));
    if (row.current) newer += 1;
  }
  return found;
}

export function isUndone(plan: Plan, plans: readonly Plan[]): boolean {
  return plans.some((other) => other.kind === 'undo' && other.undo_of === plan.id && other.state === 'APPLIED');
}

function ofPlan(plan: Plan, number: number, plans: readonly Plan[], nowMs: number): string[] {
  const target = plan.preview.checkpoint === number;
  const safety = plan.safety_checkpoint === number;
  if (plan.state === 'APPLYING' && (target || safety)) return [`plan ${plan.id} is being applied`];
  const fresh = plan.created_at !== null && nowMs - Date.parse(plan.created_at) <= PLAN_VALID_MS;
  if ((plan.state === 'PROPOSED' || plan.state === 'APPROVED') && target && fresh) return [`plan ${plan.id} would go back to it`];
  if (plan.state === 'APPLIED' && safety && !isUndone(plan, plans)) return [`undoing plan ${plan.id} would return to it`];
  return [];
}
