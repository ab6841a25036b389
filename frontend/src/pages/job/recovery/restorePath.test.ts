import { describe, expect, it } from 'vitest';

import { parsePastedPath, validate, toRequest } from './restorePath';

const none = { path: '', checkpoint: '' };

describe('a restore path', () => {
  it('is required and limited', () => {
    expect(validate({ path: ' /srv/a b/c ', checkpoint: '12' })).toEqual({ path: null, checkpoint: null });
    expect(validate(none)).toEqual({ path: 'Required', checkpoint: null });
    expect(validate({ path: `/${'a'.repeat(1_000)}`, checkpoint: '' }).path).toBe('At most 1,000 characters');
  });

  it.each(['0', '-1', '1.5', 'newest'])('rejects checkpoint %s', (checkpoint) => {
    expect(validate({ path: '/srv/a', checkpoint }).checkpoint).toMatch(/whole number/);
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
