import { expect, it } from 'vitest';

import { settings } from './settings';

it('says how checkpoints are taken', () => {
  const found = Object.fromEntries(settings({ checkpointing: { interval: '10s', retained: 3, directory: null, staging_directory: '/fast' }, allow_non_restored_state: false }));
  expect(found).toMatchObject({ Interval: '10s', Directory: "one of this installation's own", 'Staging directory': '/fast' });
  expect(found.Retained).toMatch(/^the newest 3,/);
});

it('says that none are taken by themselves', () => {
  expect(Object.fromEntries(settings({ checkpointing: { interval: 'none' } })).Interval).toMatch(/^none: only when/);
});
