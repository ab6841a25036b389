import { expect, it } from 'vitest';

import { newPassword, rolesWithin } from './roles';

it('a token has no higher role than whoever makes it', () => {
  expect(rolesWithin(['view'])).toEqual(['viewer']);
  expect(rolesWithin(['view', 'operate', 'rollback'])).toEqual(['viewer', 'operator']);
  expect(rolesWithin(['view', 'operate', 'administer'])).toEqual(['viewer', 'operator', 'admin']);
});

it('passwords that are made up are long enough, differ, and have nothing that looks like something else', () => {
  const made = new Set(Array.from({ length: 200 }, () => newPassword()));
  expect(made.size).toBe(200);
  for (const one of made) expect(one).toMatch(/^[a-km-np-zA-HJ-NP-Z2-9]{20}$/);
});
