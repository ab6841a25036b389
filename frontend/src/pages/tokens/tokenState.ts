import type { Schemas } from '../../api/types';
import { toMs } from '../../format';
import type { StateOf } from '../../theme/states';

export type Token = Schemas['TokenRead'];

/**
 * An API token has the state `expires soon` if it expires within this time. Sessions never have the state `expires soon`, because every session ends
 * within hours.
 */
const SOON_MS = 7 * 86_400_000;

export function tokenState({ revoked_at, expires_at, kind }: Pick<Token, 'revoked_at' | 'expires_at' | 'kind'>, nowMs: number): StateOf<'token'> {
  if (revoked_at !== null) return 'revoked';
  const leftMs = (toMs(expires_at) ?? 0) - nowMs;
  if (leftMs <= 0) return 'expired';
  return kind === 'api' && leftMs < SOON_MS ? 'expires soon' : 'valid';
}

export const isValid = (state: StateOf<'token'>): boolean => state === 'valid' || state === 'expires soon';
