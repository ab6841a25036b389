import { describe, expect, it } from 'vitest';

import { defaultOf, fieldError, fieldValidator } from './validation';

describe('request fields', () => {
  it.each([
    ['RescaleRequest.parallelism', 1025, 'Enter a whole number, at least 1, at most 1,024'],
    ['LagCondition.records', 0, 'Enter a whole number, at least 1'],
    ['LagCondition.seconds', 0, 'Enter a number, above 0, at most 1,000,000,000'],
    ['TokenCreate.name', 'x'.repeat(101), 'At most 100 characters'],
    ['UserCreate.password', 'short', 'At least 12 characters'],
    ['JobCreate.name', '', 'Required'],
    ['JobCreate.spec.checkpointing.timeout', '10', 'Invalid format. Enter a value such as 10m'],
  ] as const)('%s refuses %s', (name, value, error) => expect(fieldError(name, value)).toBe(error));

  it.each([['RescaleRequest.parallelism', '1024'], ['LagCondition.seconds', 0.001], ['UserCreate.name', 'Zoë @home'], ['JobCreate.spec.checkpointing.interval', 'none']] as const)(
    '%s accepts %s', (name, value) => expect(fieldError(name, value)).toBeNull(),
  );

  it('an invalid format is reported with a description of the format', () => expect(fieldError('WebhookCreate.name', 'a b', 'Use letters')).toBe('Use letters'));
  it('the default of a field is the default of the API', () => expect(defaultOf('JobCreate.spec.parallelism')).toBe('2'));
  it('an optional form field can be empty', () => expect([fieldValidator('UserCreate.password')(''), fieldValidator('UserCreate.password')('short')]).toEqual([undefined, 'At least 12 characters']));
});
