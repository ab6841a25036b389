import { describe, expect, it } from 'vitest';

import * as schema from '../api/schema';
import { contrast } from './colours';
import { coloursOf, PAPER, STATES, TONES, toneOf, type Mode, type StateKind, type StateOf, type Tone } from './states';

const MODES: Mode[] = ['light', 'dark'];

/** The enumeration in the OpenAPI document for each kind of state. */
const ENUMS: Partial<Record<StateKind, keyof typeof schema>> = {
  run: 'runStateValues',
  desired: 'desiredStateValues',
  health: 'healthValues',
  checkpoint: 'checkpointStateValues',
  backpressure: 'backpressureLevelValues',
  spec: 'specStateValues',
  operation: 'operationStateValues',
  plan: 'planStateValues',
  planPhase: 'planPhaseValues',
  alert: 'alertStateValues',
  delivery: 'deliveryStateValues',
};

describe('states', () => {
  it.each(Object.entries(ENUMS))('STATES and the OpenAPI document contain the same states of kind %s', (kind, name) => {
    expect(Object.keys(STATES[kind as StateKind]).sort()).toEqual([...(schema[name] as readonly string[])].sort());
  });

  it('every state enumeration of the OpenAPI document has colours', () => {
    const named = Object.keys(schema).filter((name) => /(state|health|level|phase)Values$/i.test(name));
    expect(named.sort()).toEqual(Object.values(ENUMS).sort());
  });

  it.each(Object.keys(TONES) as Tone[])('the tone %s is readable on its background and on the page background in both themes', (tone) => {
    for (const mode of MODES) {
      const { ink, ground } = TONES[tone][mode];
      expect(contrast(ink, ground)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(ink, PAPER[mode])).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('measured phases of a subtask have a different colour from unknown phases', () => {
    const measured = (Object.keys(STATES.phase) as StateOf<'phase'>[]).filter((phase) => phase !== 'not acknowledged');
    expect(measured.map((phase) => toneOf('phase', phase))).not.toContain(toneOf('phase', 'not acknowledged'));
  });

  it('a state that this version of the UI does not know has the tone `unknown`', () => {
    expect(toneOf('run', 'HIBERNATING' as never)).toBe('unknown');
    expect(coloursOf('run', 'HIBERNATING' as never, 'dark')).toBe(TONES.unknown.dark);
  });
});
