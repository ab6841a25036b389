import { expect, it } from 'vitest';

import { requiredPermission } from './permissions';

it('all users can list rules and webhooks, only operators can write rules, and only administrators can write webhooks', () => {
  expect(['alert-rules', 'webhooks', 'tokens', 'jobs'].map((resource) => requiredPermission(resource, 'list'))).toEqual([null, null, null, null]);
  expect(requiredPermission('alert-rules', 'edit')).toBe('operate');
  expect(['create', 'edit', 'delete'].map((action) => requiredPermission('webhooks', action))).toEqual(['administer', 'administer', 'administer']);
});

it('only administrators can access users, secrets and the audit log', () => {
  for (const action of ['list', 'show', 'create', 'edit', 'delete'])
    expect(['users', 'secrets', 'audit'].map((resource) => requiredPermission(resource, action))).toEqual(['administer', 'administer', 'administer']);
});

it('all users can create tokens', () => expect(requiredPermission('tokens', 'create')).toBeNull());
