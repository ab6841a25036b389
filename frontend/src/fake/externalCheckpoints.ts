/** Simulates external checkpoints, which jobs can restore from a path. */
import type { Schemas } from '../api/types';
import { FakeProblem, iso } from './model';

const ROOTS = ['/var/lib/weir/checkpoints', '/srv/checkpoints', 's3://backups/weir'];
const DAY_MS = 86_400_000;

/** The external checkpoints by the name of their directory. */
const CHECKPOINTS: Record<string, Omit<Schemas['ExternalCheckpointRead'], 'completed_at'> & { daysOld: number; damage?: string; incompatibility?: string }> = {
  'flights-2025': { job: 'flights', checkpoint: 812, state_bytes: 171e6, is_savepoint: true, daysOld: 41 },
  'flights-torn': { job: 'flights', checkpoint: 64, state_bytes: 9.1e6, is_savepoint: false, daysOld: 3, damage: 'state/by_route-1.bin is missing' },
  orders: {
    job: 'orders', checkpoint: 2_204, state_bytes: 402e6, is_savepoint: false, daysOld: 1,
    incompatibility: "state of operator 'counts' (aggregate) has no operator in this graph",
  },
};

/** Return a problem if jobs are not allowed to restore from the path, else null. */
export function checkPathAllowed(path: string): FakeProblem | null {
  if (ROOTS.some((root) => path === root || path.startsWith(`${root}/`))) return null;
  return new FakeProblem(
    403, 'path-not-allowed', `This installation does not restore checkpoints from ${path}. Allowed directories: ${ROOTS.join(', ')}.`,
    'Ask an administrator to add the directory to WEIR_RESTORE_ROOTS, or copy the checkpoints to an allowed directory.',
  );
}

/** Return the result of inspecting the external checkpoint in a path. */
export function inspectPath(path: string, wanted: number | null, nowMs: number): Pick<Schemas['PlanInspection'], 'intact' | 'damage' | 'incompatibility' | 'external_checkpoint'> {
  const found = CHECKPOINTS[path.split('/').at(-1)!];
  if (!found) return { intact: false, damage: `${path} has no completed checkpoint`, incompatibility: null, external_checkpoint: null };
  const { daysOld, damage = null, incompatibility = null, ...external } = found;
  if (wanted !== null && wanted > external.checkpoint) return { intact: false, damage: `job '${external.job}' in ${path} has no completed checkpoint ${wanted}`, incompatibility: null, external_checkpoint: null };
  return { intact: damage === null, damage, incompatibility, external_checkpoint: { ...external, checkpoint: wanted ?? external.checkpoint, completed_at: iso(nowMs - daysOld * DAY_MS) } };
}
