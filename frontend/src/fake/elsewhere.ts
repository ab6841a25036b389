/** Checkpoints that are nobody's of this installation, at places that restores may name. */
import type { Schemas } from '../api/types';
import { iso } from './moments';
import { Refusal } from './refusal';

const ROOTS = ['/var/lib/weir/checkpoints', '/srv/checkpoints', 's3://backups/weir'];
const DAY_MS = 86_400_000;

/** By the name of their directory. */
const THERE: Record<string, Omit<Schemas['Origin'], 'completed_at'> & { daysOld: number; damage?: string; misfit?: string }> = {
  'flights-2025': { job: 'flights', checkpoint: 812, state_bytes: 171e6, is_savepoint: true, daysOld: 41 },
  'flights-torn': { job: 'flights', checkpoint: 64, state_bytes: 9.1e6, is_savepoint: false, daysOld: 3, damage: 'state/by_route-1.bin is missing' },
  orders: {
    job: 'orders', checkpoint: 2_204, state_bytes: 402e6, is_savepoint: false, daysOld: 1,
    misfit: "the checkpoint has state of operator 'counts' (aggregate), and no operator of the graph has that uid",
  },
};

/** Null: it may be looked into. */
export function whyNotLookedInto(path: string): Refusal | null {
  if (ROOTS.some((root) => path === root || path.startsWith(`${root}/`))) return null;
  return new Refusal(
    403, 'path-not-allowed', `checkpoints in ${path} are not for this installation to look into; it looks below ${ROOTS.join(', ')}`,
    'have whoever runs the platform add the place to WEIR_RESTORE_ROOTS, or copy the checkpoints to one of these',
  );
}

/** What a worker finds there. */
export function foundAt(path: string, wanted: number | null, nowMs: number): Pick<Schemas['Inspection'], 'whole' | 'damage' | 'misfit' | 'origin'> {
  const there = THERE[path.split('/').at(-1)!];
  if (!there) return { whole: false, damage: `there is no job with checkpoints in ${path}`, misfit: null, origin: null };
  const { daysOld, damage = null, misfit = null, ...origin } = there;
  if (wanted !== null && wanted > origin.checkpoint) return { whole: false, damage: `job '${origin.job}' in ${path} has no completed checkpoint ${wanted}`, misfit: null, origin: null };
  return { whole: damage === null, damage, misfit, origin: { ...origin, checkpoint: wanted ?? origin.checkpoint, completed_at: iso(nowMs - daysOld * DAY_MS) } };
}
