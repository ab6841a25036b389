import { expect, it } from 'vitest';

import { settings } from './settings';

it('says how checkpoints are taken', () => {
  const found = Object.fromEntries(settings({ checkpointing: { interval: '10s', retained: 3, directory: null, staging_directory: '/fast' }, allow_non_restored_state: false }));
  expect(found).toMatchObject({ Mode: expect.stringMatching(/^exactly once/) as string, Interval: '10s', Directory: "one of this installation's own", 'Staging directory': '/fast' });
  expect(found).toMatchObject({ 'Checkpoint timeout': '', 'Minimum pause': '', 'Tolerable failed checkpoints': '' });
  expect(found.Retained).toMatch(/^the newest 3,/);
});

it('says that none are taken by themselves', () => {
  expect(Object.fromEntries(settings({ checkpointing: { interval: 'none' } })).Interval).toMatch(/^none: only when/);
});

it.each([
  [{ timeout: '90s', min_pause: '5s', tolerable_failed_checkpoints: 3 }, [/^90s: one that takes longer/, /^5s from the end of one/, /^3 in a row; after one more/]],
  [{ timeout: '10m', min_pause: '0s', tolerable_failed_checkpoints: null }, [/^10m: /, /^none$/, /^any number$/]],
  [{ timeout: '10m', min_pause: '0.5s', tolerable_failed_checkpoints: 0 }, [/^10m: /, /^0\.5s from/, /^0 in a row; after one more/]],
])('says how they are limited by %o', (checkpointing, says) => {
  const found = Object.fromEntries(settings({ checkpointing }));
  expect(found['Checkpoint timeout']).toMatch(says[0]!);
  expect(found['Minimum pause']).toMatch(says[1]!);
  expect(found['Tolerable failed checkpoints']).toMatch(says[2]!);
});
