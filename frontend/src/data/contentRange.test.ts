import { expect, it } from 'vitest';

import { rangeOf } from './contentRange';

it('says how many there are as far as that was counted', () => {
  expect([319, 10_000, 10_001].map((count) => rangeOf({ from: 1, to: 25, count }))).toEqual(['1–25 of 319', '1–25 of 10,000', '1–25 of more than 10,000']);
});
