import { expect, it } from 'vitest';

import { formatRange } from './contentRange';

it('if the API did not count all rows, the total is shown as a lower bound', () => {
  expect([319, 10_000, 10_001].map((count) => formatRange({ from: 1, to: 25, count }))).toEqual(['1–25 of 319', '1–25 of 10,000', '1–25 of more than 10,000']);
});
