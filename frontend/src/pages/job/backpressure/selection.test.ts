import { expect, it } from 'vitest';

import { parseSelection, withSelection } from './selection';

const of = (search: string) => parseSelection(new URLSearchParams(search));

it('the URL selects an operator or one of its subtasks', () => {
  expect(of('operator=3&subtask=2')).toEqual({ chain: 3, index: 2 });
  expect(of('operator=0')).toEqual({ chain: 0, index: null });
});

it.each(['', 'subtask=2', 'operator=', 'operator=-1', 'operator=1e3', 'operator=99999999999999999999'])('the query %j selects no operator', (search) => {
  expect(of(search)).toBeNull();
});

it('a query with an invalid subtask selects the whole operator', () => {
  expect(of('operator=3&subtask=x')).toEqual({ chain: 3, index: null });
});

it('a new selection keeps the other parameters of the URL', () => {
  const before = new URLSearchParams('wide&operator=3&subtask=2');
  expect(withSelection(before, { chain: 4, index: null }).toString()).toBe('wide=&operator=4');
  expect(withSelection(before, { chain: 4, index: 1 }).toString()).toBe('wide=&operator=4&subtask=1');
  expect(before.get('operator')).toBe('3');
});
