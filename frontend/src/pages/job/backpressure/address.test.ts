import { expect, it } from 'vitest';

import { chosenIn, withChosen } from './address';

const of = (search: string) => chosenIn(new URLSearchParams(search));

it('who is looked at can be linked, as an operator or one of its subtasks', () => {
  expect(of('operator=3&subtask=2')).toEqual({ chain: 3, index: 2 });
  expect(of('operator=0')).toEqual({ chain: 0, index: null });
});

it.each(['', 'subtask=2', 'operator=', 'operator=-1', 'operator=1e3', 'operator=99999999999999999999'])('%j names nobody', (search) => {
  expect(of(search)).toBeNull();
});

it('a subtask that is none leaves its operator', () => {
  expect(of('operator=3&subtask=x')).toEqual({ chain: 3, index: null });
});

it('what else is in the address stays', () => {
  const before = new URLSearchParams('wide&operator=3&subtask=2');
  expect(withChosen(before, { chain: 4, index: null }).toString()).toBe('wide=&operator=4');
  expect(withChosen(before, { chain: 4, index: 1 }).toString()).toBe('wide=&operator=4&subtask=1');
  expect(before.get('operator')).toBe('3');
});
