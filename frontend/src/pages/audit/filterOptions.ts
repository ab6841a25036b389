/** The actions and resources in the audit log. tests/backend/audit/test_audit.py compares them with the backend. */
export const ACTIONS = [
  'create', 'update', 'delete', 'start', 'suspend', 'cancel', 'savepoint', 'checkpoint', 'profile', 'verify', 'pin', 'unpin', 'propose', 'approve', 'apply', 'discard', 'log-in',
  'log-out', 'change-password', 'revoke', 'test',
] as const;
export const RESOURCES = ['job', 'spec', 'artifact', 'checkpoint', 'plan', 'alert-rule', 'webhook', 'user', 'token', 'session', 'secret'] as const;
