import { describe, expect, it } from 'vitest';

import { sentence } from './sentence';

describe('sentences of events', () => {
  it.each([
    ['RunStateChanged', { state: 'FAILED', generation: 3, reason: 'slot 1 was lost', kind: 'SlotLost' }, 'FAILED, generation 3: slot 1 was lost'],
    ['CheckpointTriggered', { checkpoint: 9, trigger: 'periodic', subtasks: 8, generation: 1 }, 'checkpoint 9 (periodic), 8 subtasks'],
    ['CheckpointCompleted', { checkpoint: 9, end_to_end_ms: 84, state_bytes: 1_500_000 }, 'checkpoint 9 in 84 ms, 1.5 MB'],
    ['Recovered', { generation: 2, reason: '', took_ms: 4200 }, 'generation 2 after 4.2 s'],
  ])('%s', (kind, fields, said) => expect(sentence({ kind, fields })).toBe(said));

  it('tells a kind that is new by its fields, without those that are empty', () => {
    expect(sentence({ kind: 'MoonRose', fields: { plan_id: 4, kind: 'undo', problem: null, extra: { a: 1 } } })).toBe('plan id: 4, kind: undo, extra: {"a":1}');
  });
});
