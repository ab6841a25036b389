import { expect, it } from 'vitest';

import { isValid, tokenState } from './tokenState';

const NOW = Date.parse('2026-11-22T03:00:00Z');
const DAY_MS = 86_400_000;
const token = (leftMs: number, fields = {}) => ({ kind: 'api' as const, revoked_at: null, expires_at: new Date(NOW + leftMs).toISOString(), ...fields });

it.each([
  [token(30 * DAY_MS), 'valid', true], [token(6 * DAY_MS), 'expires soon', true], [token(0), 'expired', false], [token(-DAY_MS), 'expired', false],
  [token(DAY_MS / 2, { kind: 'session' }), 'valid', true],
  [token(30 * DAY_MS, { revoked_at: '2026-11-01T00:00:00Z' }), 'revoked', false],
  [token(-DAY_MS, { revoked_at: '2026-11-01T00:00:00Z' }), 'revoked', false],
])('token %j has the state %s', (one, state, live) => {
  expect(tokenState(one, NOW)).toBe(state);
  expect(isValid(tokenState(one, NOW))).toBe(live);
});
