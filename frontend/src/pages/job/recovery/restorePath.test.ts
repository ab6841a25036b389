import { describe, expect, it } from 'vitest';

import { parsePastedPath, validate, toRequest } from './restorePath';

const none = { path: '', checkpoint: '' };

describe('a restore path', () => {
  it('the path of a restore is required and has a limited length', () => {
    expect(validate({ path: ' /srv/a b/c ', checkpoint: '12' })).toEqual({ path: null, checkpoint: null });
    expect(validate(none)).toEqual({ path: 'Required', checkpoint: null });
    expect(validate({ path: `/${'a'.repeat(1_000)}`, checkpoint: '' }).path).toBe('At most 1,000 characters');
  });

  it.each(['0', '-1', '1.5', 'newest'])('%s is not a valid checkpoint number', (checkpoint) => {
    expect(validate({ path: '/srv/a', checkpoint }).checkpoint).toMatch(/whole number/);
  });

  it('a pasted path is split into path and checkpoint number', () => {
    expect(parsePastedPath(' /srv/a#12', none)).toEqual({ path: '/srv/a', checkpoint: '12' });
    expect(parsePastedPath('/srv/a', { path: '', checkpoint: '7' })).toEqual({ path: '/srv/a', checkpoint: '7' });
    expect(parsePastedPath('/srv/a#', none)).toEqual({ path: '/srv/a#', checkpoint: '' });
  });

  it('a request to restore the newest checkpoint has no checkpoint number', () => {
    expect(toRequest({ path: ' /srv/a ', checkpoint: '' })).toEqual({ kind: 'restore', path: '/srv/a' });
    expect(toRequest({ path: '/srv/a', checkpoint: ' 12 ' })).toEqual({ kind: 'restore', path: '/srv/a', checkpoint: 12 });
  });
});
