import { describe, expect, it } from 'vitest';

import { differences, summarizeFields } from './differences';

describe('the differences of an audit entry', () => {
  it('lists the differences of all changed fields, including nested fields', () => {
    expect(differences({ role: 'operator', labels: { team: 'ops', tier: '1' } }, { role: 'viewer', labels: { team: 'ops', owner: 'mira' } })).toEqual([
      { path: 'role', kind: 'changed', before: 'operator', after: 'viewer' },
      { path: 'labels.tier', kind: 'removed', before: '1', after: null },
      { path: 'labels.owner', kind: 'added', before: null, after: 'mira' },
    ]);
  });

  it('lists all fields of a created or deleted resource', () => {
    expect(differences(null, { name: 'CI', rollback: false })).toEqual([
      { path: 'name', kind: 'added', before: null, after: 'CI' }, { path: 'rollback', kind: 'added', before: null, after: 'false' },
    ]);
    expect(differences({ name: 'CI' }, null)).toEqual([{ path: 'name', kind: 'removed', before: 'CI', after: null }]);
    expect(differences(null, null)).toEqual([]);
  });

  it('distinguishes null from a missing field, and compares lists and empty objects as values', () => {
    expect(differences({ webhook_id: null, sources: [1, 2], labels: {} }, { webhook_id: 3, sources: [1, 2], labels: { a: 'b' } })).toEqual([
      { path: 'webhook_id', kind: 'changed', before: 'null', after: '3' }, { path: 'labels', kind: 'removed', before: '{}', after: null },
      { path: 'labels.a', kind: 'added', before: null, after: 'b' },
    ]);
  });

  it('shows the names of resources instead of their ids', () => {
    const references = { 'webhook_id 3': 'webhook chat', 'count 2': 'not this field' };
    expect(differences({ webhook_id: 3, job_id: 2 }, { webhook_id: null, job_id: 4 }, references)).toEqual([
      { path: 'webhook_id', kind: 'changed', before: 'webhook chat', after: 'null' }, { path: 'job_id', kind: 'changed', before: '2', after: '4' },
    ]);
  });

  it('summarises the changed fields in one line', () => {
    expect(summarizeFields(differences(null, { a: 1, b: 2 }))).toBe('a, b');
    expect(summarizeFields(differences(null, { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }))).toBe('a, b, c, d and 2 more');
  });
});
