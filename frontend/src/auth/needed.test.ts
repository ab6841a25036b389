import { expect, it } from 'vitest';

import { neededFor } from './needed';

it('everybody looks at rules and webhooks, operators write rules, administrators webhooks', () => {
  expect(['alert-rules', 'webhooks', 'tokens', 'jobs'].map((resource) => neededFor(resource, 'list'))).toEqual([null, null, null, null]);
  expect(neededFor('alert-rules', 'edit')).toBe('operate');
  expect(['create', 'edit', 'delete'].map((action) => neededFor('webhooks', action))).toEqual(['administer', 'administer', 'administer']);
});

it('users and the audit are for administrators, whatever is done with them', () => {
  for (const action of ['list', 'show', 'create', 'edit', 'delete'])
    expect([neededFor('users', action), neededFor('audit', action)]).toEqual(['administer', 'administer']);
});

it('tokens are made by everybody, for himself', () => expect(neededFor('tokens', 'create')).toBeNull());
