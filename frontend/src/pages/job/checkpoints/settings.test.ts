import { expect, it } from 'vitest';

import { checkpointSettings } from './settings';

it('checkpoint settings are shown as text, and a missing limit is shown as an empty text', () => {
  const found = Object.fromEntries(checkpointSettings({ checkpointing: { interval: '10s', retained: 3, directory: null, staging_directory: '/fast' }, allow_non_restored_state: false }));
  expect(found).toMatchObject({ Mode: expect.stringMatching(/^exactly-once/) as string, Interval: '10s', Directory: 'managed by this installation', 'Staging directory': '/fast' });
  expect(found).toMatchObject({ 'Checkpoint timeout': '', 'Minimum pause': '', 'Tolerable failed checkpoints': '' });
  expect(found.Retained).toMatch(/^the newest 3,/);
});

it('the interval is "none" if periodic checkpoints are disabled', () => {
  expect(Object.fromEntries(checkpointSettings({ checkpointing: { interval: 'none' } })).Interval).toMatch(/^none \(the job takes checkpoints only on request/);
});

it.each([
  [{ timeout: '90s', min_pause: '5s', tolerable_failed_checkpoints: 3 }, [/^90s \(a checkpoint that takes longer/, /^5s between the end/, /^3 in a row \(one more failed checkpoint/]],
  [{ timeout: '10m', min_pause: '0s', tolerable_failed_checkpoints: null }, [/^10m \(/, /^none$/, /^unlimited$/]],
  [{ timeout: '10m', min_pause: '0.5s', tolerable_failed_checkpoints: 0 }, [/^10m \(/, /^0\.5s between/, /^0 in a row \(one more failed checkpoint/]],
])('the effect of each checkpoint limit is described: %o', (checkpointing, says) => {
  const found = Object.fromEntries(checkpointSettings({ checkpointing }));
  expect(found['Checkpoint timeout']).toMatch(says[0]!);
  expect(found['Minimum pause']).toMatch(says[1]!);
  expect(found['Tolerable failed checkpoints']).toMatch(says[2]!);
});
