import { describe, expect, it } from 'vitest';

import { differences, fieldsOf } from './differences';

describe('what has changed', () => {
  it('is told field by field, inside of objects, too', () => {
    expect(differences({ role: 'operator', labels: { team: 'ops', tier: '1' } }, { role: 'viewer', labels: { team: 'ops', owner: 'mira' } })).toEqual([
      { path: 'role', how: 'changed', before: 'operator', after: 'viewer' },
      { path: 'labels.tier', how: 'removed', before: '1', after: null },
      { path: 'labels.owner', how: 'added', before: null, after: 'mira' },
    ]);
  });

  it('is all that there is of what was made or deleted', () => {
    expect(differences(null, { name: 'CI', rollback: false })).toEqual([
      { path: 'name', how: 'added', before: null, after: 'CI' }, { path: 'rollback', how: 'added', before: null, after: 'false' },
    ]);
    expect(differences({ name: 'CI' }, null)).toEqual([{ path: 'name', how: 'removed', before: 'CI', after: null }]);
    expect(differences(null, null)).toEqual([]);
  });

  it('tells null from what is not there, and takes lists and empty objects as they are', () => {
    expect(differences({ webhook_id: null, sources: [1, 2], labels: {} }, { webhook_id: 3, sources: [1, 2], labels: { a: 'b' } })).toEqual([
      { path: 'webhook_id', how: 'changed', before: 'null', after: '3' }, { path: 'labels', how: 'removed', before: '{}', after: null },
      { path: 'labels.a', how: 'added', before: null, after: 'b' },
    ]);
  });

  it('is named in a line', () => {
    expect(fieldsOf(differences(null, { a: 1, b: 2 }))).toBe('a, b');
    expect(fieldsOf(differences(null, { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }))).toBe('a, b, c, d and 2 more');
  });
});
