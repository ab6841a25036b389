/** What the backend calls what it notes (kit.audit): held against its code by tests/backend/audit/test_audit.py. */
export const ACTIONS = [
  'create', 'update', 'delete', 'start', 'suspend', 'cancel', 'savepoint', 'checkpoint', 'verify', 'pin', 'unpin', 'propose', 'approve', 'apply', 'withdraw', 'log-in',
  'log-out', 'change-password', 'revoke', 'test',
] as const;
export const RESOURCES = ['job', 'spec', 'artifact', 'checkpoint', 'plan', 'alert-rule', 'webhook', 'user', 'token', 'session'] as const;
