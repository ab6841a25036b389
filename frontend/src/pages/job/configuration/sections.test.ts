import { expect, it } from 'vitest';

import { settings } from '../checkpoints/settings';
import { sections, spelled } from './sections';

it('shows what is plain first, then each group that has something in it', () => {
  const body = {
    artifact: 'ab12', parallelism: 4, allow_non_restored_state: false, parameters: { input_dir: '/data' }, spark_conf: {},
    checkpointing: { interval: '10s', tolerable_failed_checkpoints: null, directory: null },
  };
  expect(sections(body)).toEqual([
    { title: 'Deployment', facts: [['Artifact', 'ab12'], ['Parallelism', '4'], ['State that nothing takes', 'is refused']] },
    { title: 'Parameters', facts: [['input_dir', '/data']] },
    { title: 'Checkpointing', facts: settings(body) },
  ]);
});

it('says how long a driver that failed is waited for', () => {
  const [, found] = sections({ restart: { max_s: 60, newer: 1, attempts: 10, initial_s: 1, multiplier: 2, well_after_s: 300 } });
  expect(found!.facts).toEqual([
    ['Attempts in a row', '10'], ['First wait', '1 s'], ['Each wait', '2 times the one before'], ['Longest wait', '1 min'], ['Counted anew after', '5 min of running'],
    ['Newer', '1'],
  ]);
});

it('leaves nothing out that it does not know', () => {
  expect(sections({ newer_s: 3, group: { some_bytes: 1 } })).toEqual([
    { title: 'Deployment', facts: [['Newer (s)', '3']] },
    { title: 'Group', facts: [['Some (bytes)', '1']] },
  ]);
});

it('spells units out beside names', () => {
  expect([spelled('well_after_s'), spelled('spares')]).toEqual(['Well after (s)', 'Spares']);
});
