import type { Schemas } from '../api/types';

/** `operator, may roll back`: what somebody, or a token, may do. */
export function roleSaid({ role, rollback }: Pick<Schemas['SessionView'], 'role' | 'rollback'>): string {
  return `${role}${rollback ? ', may roll back' : ''}`;
}
