/** Who is looked at, as the address has it: `?operator=3&subtask=2`. Pure. */

/** Which operator is looked at, and which of its subtasks; null: all of them together. */
export interface Chosen {
  chain: number;
  index: number | null;
}

const NUMBER = /^\d{1,9}$/;

/** Null: nobody is named. */
export function chosenIn(params: URLSearchParams): Chosen | null {
  const number = (name: string): number | null => (NUMBER.test(params.get(name) ?? '') ? Number(params.get(name)) : null);
  const chain = number('operator');
  return chain === null ? null : { chain, index: number('subtask') };
}

export function withChosen(params: URLSearchParams, { chain, index }: Chosen): URLSearchParams {
  const after = new URLSearchParams(params);
  after.set('operator', String(chain));
  if (index === null) after.delete('subtask');
  else after.set('subtask', String(index));
  return after;
}
