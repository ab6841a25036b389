import { expect, it } from 'vitest';

import { requiredPermission } from './permissions';

it('lets every user list rules and webhooks, operators write rules, and administrators write webhooks', () => {
  expect(['alert-rules', 'webhooks', 'tokens', 'jobs'].map((resource) => requiredPermission(resource, 'list'))).toEqual([null, null, null, null]);
  expect(requiredPermission('alert-rules', 'edit')).toBe('operate');
  expect(['create', 'edit', 'delete'].map((action) => requiredPermission('webhooks', action))).toEqual(['administer', 'administer', 'administer']);
});

it('reserves users and the audit log for administrators', () => {
  for (const action of ['list', 'show', 'create', 'edit', 'delete'])
    expect([requiredPermission('users', action), requiredPermission('audit', action)]).toEqual(['administer', 'administer']);
});

it('lets every user create tokens', () => expect(requiredPermission('tokens', 'create')).toBeNull());
