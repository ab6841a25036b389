/** What may be looked at and done on the pages of react-admin, as the API has it. What is not here is for everybody. */
import type { Permission } from '../api/types';

const TO_SEE: Record<string, Permission> = { users: 'administer', audit: 'administer' };
const TO_CHANGE: Record<string, Permission> = { 'alert-rules': 'operate', webhooks: 'administer' };
const CHANGES = new Set(['create', 'edit', 'delete']);

/** Null: everybody may who is logged in. */
export function neededFor(resource: string, action: string): Permission | null {
  return TO_SEE[resource] ?? (CHANGES.has(action) ? (TO_CHANGE[resource] ?? null) : null);
}
