import { expect, it } from 'vitest';

import { listResponse } from './lists';

it.each([
  ['ASC', [3, 1, 2, 4]],
  ['DESC', [1, 3, 4, 2]],
])('null values are last in a list that is sorted %s', async (order, wanted) => {
  const rows = [{ id: 1, took: 9 }, { id: 2, took: null }, { id: 3, took: 5 }, { id: 4, took: null }];
  const answer = listResponse(rows, new URLSearchParams({ sort: JSON.stringify(['took', order]) }), 'rows');
  expect(((await answer.json()) as typeof rows).map(({ id }) => id)).toEqual(wanted);
});
