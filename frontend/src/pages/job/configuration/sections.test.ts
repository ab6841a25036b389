import { expect, it } from 'vitest';

import { checkpointSettings } from '../checkpoints/settings';
import { sections, labelOf } from './sections';

it('settings without a group are in the first section, and each non-empty group of settings has its own section', () => {
  const body = {
    artifact: 'ab12', parallelism: 4, allow_non_restored_state: false, parameters: { input_dir: '/data' }, spark_conf: {},
    checkpointing: { interval: '10s', tolerable_failed_checkpoints: null, directory: null },
  };
  expect(sections(body)).toEqual([
    { title: 'Deployment', facts: [['Artifact', 'ab12'], ['Parallelism', '4'], ['Non-restored state', 'refused']] },
    { title: 'Parameters', facts: [['input_dir', '/data']] },
    { title: 'Checkpointing', facts: checkpointSettings(body) },
  ]);
});

it('restart settings have readable names, units and order', () => {
  const [, found] = sections({ restart: { max_s: 60, newer: 1, attempts: 10, initial_s: 1, multiplier: 2, reset_after_s: 300 } });
  expect(found!.facts).toEqual([
    ['Consecutive attempts', '10'], ['First delay', '1 s'], ['Delay factor', '2'], ['Longest delay', '1 min'], ['Reset after', '5 min of running'],
    ['Newer', '1'],
  ]);
});

it('unknown settings and groups are also shown', () => {
  expect(sections({ newer_s: 3, group: { some_bytes: 1 } })).toEqual([
    { title: 'Deployment', facts: [['Newer (s)', '3']] },
    { title: 'Group', facts: [['Some (bytes)', '1']] },
  ]);
});

it('the label of a setting has its unit in parentheses', () => {
  expect([labelOf('reset_after_s'), labelOf('spares')]).toEqual(['Reset after (s)', 'Spares']);
});
