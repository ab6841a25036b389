import { expect, it } from 'vitest';

import { generatePassword, grantableRoles } from './roles';

it('a token has at most the role of its user', () => {
  expect(grantableRoles(['view'])).toEqual(['viewer']);
  expect(grantableRoles(['view', 'operate', 'rollback'])).toEqual(['viewer', 'operator']);
  expect(grantableRoles(['view', 'operate', 'administer'])).toEqual(['viewer', 'operator', 'admin']);
});

it('generated passwords are long and unique, and contain no characters that look alike', () => {
  const made = new Set(Array.from({ length: 200 }, () => generatePassword()));
  expect(made.size).toBe(200);
  for (const one of made) expect(one).toMatch(/^[a-km-np-zA-HJ-NP-Z2-9]{20}$/);
});
