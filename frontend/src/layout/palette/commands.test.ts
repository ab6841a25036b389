import { describe, expect, it } from 'vitest';

import type { Job } from '../../pages/job/useJob';
import { jobCommands, jobIdOf, matchingCommands, type Command } from './commands';

const actions = [{ verb: 'suspend', allowed: true, reason: null }, { verb: 'rescale', allowed: true, reason: null }, { verb: 'delete', allowed: false, reason: 'Job orders is running.' }] as Job['actions'];
const labels = (commands: readonly Command[]): string[] => commands.map(({ label }) => label);

describe('the commands of a job', () => {
  it.each([
    ['/jobs/7', 7], ['/jobs/7/', 7], ['/jobs/7/events', 7], ['/jobs/7/recovery/3', 7],
    ['/jobs', null], ['/jobs/deploy', null], ['/jobs/7/new-version', null], ['/jobs/7/review/2', null], ['/users/7', null], ['/', null],
  ])('the job of the path %s is %s', (path, id) => expect(jobIdOf(path)).toBe(id));

  it('contain only verbs that the API allows, and all tabs', () => {
    const commands = jobCommands({ id: 7, name: 'orders', actions }, true);
    expect(labels(commands).slice(0, 4)).toEqual(['Suspend…', 'Rescale…', 'Overview', 'Checkpoints']);
    expect(commands[3]!.target).toEqual({ path: '/jobs/7/checkpoints' });
    expect(commands[2]!.target).toEqual({ path: '/jobs/7' });
  });

  it('contain no verbs without the permission', () => {
    expect(labels(jobCommands({ id: 7, name: 'orders', actions }, false))[0]).toBe('Overview');
  });
});

it('a command matches if its label contains all words of the text, in any order', () => {
  const commands = jobCommands({ id: 7, name: 'orders', actions }, true);
  expect(labels(matchingCommands(commands, 'align back'))).toEqual(['Backpressure & alignment']);
  expect(labels(matchingCommands(commands, ' SUSP '))).toEqual(['Suspend…']);
  expect(matchingCommands(commands, 'suspend now')).toEqual([]);
  expect(matchingCommands(commands, '')).toEqual(commands);
});
