import { describe, expect, it } from 'vitest';

import { alertKindValues } from '../../api/schema';
import { conditionFromForm, formatCondition, KINDS, validateLag, type Condition } from './conditions';

describe('conditions of rules', () => {
  it.each<[Condition, string]>([
    [{ kind: 'no-checkpoint', minutes: 90 }, 'no checkpoint for 1 h 30 min'],
    [{ kind: 'failures', count: 3 }, '3 failures in a row'],
    [{ kind: 'failures', count: 1 }, 'a failure'],
    [{ kind: 'restarts', count: 5, minutes: 10 }, '5 restarts within 10 min'],
    [{ kind: 'health', reason: 'slow-checkpoints' }, 'degraded: checkpoints are slow'],
    [{ kind: 'health', reason: null }, 'degraded: any reason'],
    [{ kind: 'lag', records: 1_000_000, seconds: 90, source: null }, 'lag of a source above 1,000,000 records or 1 min 30 s'],
    [{ kind: 'lag', records: null, seconds: 60, source: 'orders' }, 'lag of source orders above 1 min'],
  ])('%j is shown as %s', (condition, text) => expect(formatCondition(condition)).toBe(text));

  it('every kind of condition has a form', () => expect(KINDS.map(({ id }) => id).sort()).toEqual([...alertKindValues].sort()));

  it('a condition contains only the fields of its kind', () => {
    expect(conditionFromForm({ kind: 'failures', minutes: 10, count: 3 })).toEqual({ kind: 'failures', count: 3 });
    expect(conditionFromForm({ kind: 'health', minutes: 10, reason: 'bottleneck' })).toEqual({ kind: 'health', reason: 'bottleneck' });
    expect(conditionFromForm({ kind: 'health' })).toEqual({ kind: 'health', reason: null });
    expect(conditionFromForm({ kind: 'lag', records: 5, count: 3 })).toEqual({ kind: 'lag', records: 5, seconds: null, source: null });
  });

  it('a lag condition needs a limit', () => {
    expect(validateLag({ kind: 'lag', records: null })).toMatch(/Enter a limit/);
    expect([validateLag({ kind: 'lag', seconds: 3 }), validateLag({ kind: 'failures' })]).toEqual([undefined, undefined]);
  });
});
