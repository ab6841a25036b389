import { describe, expect, it } from 'vitest';

import { parsePastedPath, validate, toRequest } from './restorePath';

const none = { path: '', checkpoint: '' };

describe('a restore path', () => {
  it.each(['/srv/checkpoints/flights', '/srv/checkpoints/', ' /srv/a b/c ', 's3://backups/weir/flights', 'gs://bucket'])('accepts %s', (path) => {
    expect(validate({ path, checkpoint: '' })).toEqual({});
  });

  it.each([
    ['', /Enter a directory/], ['srv/checkpoints', /Enter a directory/], ['file:///srv/a', /Enter a directory/], ['//srv/a', /Enter a directory/],
    ['/srv/a?b', /must not contain [?]/], ['/srv/%2e%2e', /must not contain [?]/], ['/srv/a\tb', /must not contain [?]/], ['/srv/../etc', /must not contain '\.'/], [`/${'a'.repeat(1_000)}`, /at most/],
  ])('rejects %o', (path, why) => expect(validate({ path, checkpoint: '' }).path).toMatch(why));

  it.each(['0', '-1', '1.5', 'newest', '9'.repeat(20)])('rejects checkpoint %s', (checkpoint) => {
    expect(validate({ path: '/srv/a', checkpoint }).checkpoint).toMatch(/number from 1/);
  });

  it('splits a pasted path and checkpoint', () => {
    expect(parsePastedPath(' /srv/a#12', none)).toEqual({ path: '/srv/a', checkpoint: '12' });
    expect(parsePastedPath('/srv/a', { path: '', checkpoint: '7' })).toEqual({ path: '/srv/a', checkpoint: '7' });
    expect(parsePastedPath('/srv/a#', none)).toEqual({ path: '/srv/a#', checkpoint: '' });
  });

  it('omits the number of the newest checkpoint', () => {
    expect(toRequest({ path: ' /srv/a ', checkpoint: '' })).toEqual({ kind: 'restore', path: '/srv/a' });
    expect(toRequest({ path: '/srv/a', checkpoint: ' 12 ' })).toEqual({ kind: 'restore', path: '/srv/a', checkpoint: 12 });
  });
});
