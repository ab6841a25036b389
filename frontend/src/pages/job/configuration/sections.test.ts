import { expect, it } from 'vitest';

import { sections, spelled } from './sections';

it('shows what is plain first, then each group that has something in it', () => {
  const found = sections({
    artifact: 'ab12', parallelism: 4, allow_non_restored_state: false, parameters: { input_dir: '/data' }, spark_conf: {},
    checkpointing: { interval: '10s', tolerable_failed_checkpoints: null, directory: null },
  });
  expect(found).toEqual([
    { title: 'Deployment', facts: [['Artifact', 'ab12'], ['Parallelism', '4'], ['Allow non restored state', 'no']] },
    { title: 'Parameters', facts: [['input_dir', '/data']] },
    { title: 'Checkpointing', facts: [['Interval', '10s'], ['Tolerable failed checkpoints', 'any number'], ['Directory', '']] },
  ]);
});

it('spells units out beside names', () => {
  expect([spelled('well_after_s'), spelled('spares')]).toEqual(['Well after (s)', 'Spares']);
});
