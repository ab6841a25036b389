import { describe, expect, it } from 'vitest';

import { pasted, problemsOf, requestOf } from './place';

const none = { path: '', checkpoint: '' };

describe('a place of checkpoints', () => {
  it.each(['/srv/checkpoints/flights', '/srv/checkpoints/', ' /srv/a b/c ', 's3://backups/weir/flights', 'gs://bucket'])('is %s', (path) => {
    expect(problemsOf({ path, checkpoint: '' })).toEqual({});
  });

  it.each([
    ['', /A directory as/], ['srv/checkpoints', /A directory as/], ['file:///srv/a', /A directory as/], ['//srv/a', /A directory as/],
    ['/srv/a?b', /must not have/], ['/srv/%2e%2e', /must not have/], ['/srv/a\tb', /must not have/], ['/srv/../etc', /without '\.' and '\.\.'/], [`/${'a'.repeat(1_000)}`, /At most/],
  ])('is not %o', (path, why) => expect(problemsOf({ path, checkpoint: '' }).path).toMatch(why));

  it.each(['0', '-1', '1.5', 'newest', '9'.repeat(20)])('has no checkpoint %s', (checkpoint) => {
    expect(problemsOf({ path: '/srv/a', checkpoint }).checkpoint).toMatch(/from 1 on/);
  });

  it('is taken with its checkpoint from where the command line has it', () => {
    expect(pasted(' /srv/a#12', none)).toEqual({ path: '/srv/a', checkpoint: '12' });
    expect(pasted('/srv/a', { path: '', checkpoint: '7' })).toEqual({ path: '/srv/a', checkpoint: '7' });
    expect(pasted('/srv/a#', none)).toEqual({ path: '/srv/a#', checkpoint: '' });
  });

  it('is asked for without a number if it is the newest', () => {
    expect(requestOf({ path: ' /srv/a ', checkpoint: '' })).toEqual({ kind: 'restore', path: '/srv/a' });
    expect(requestOf({ path: '/srv/a', checkpoint: ' 12 ' })).toEqual({ kind: 'restore', path: '/srv/a', checkpoint: 12 });
  });
});
