/** The selected operator in the address: `?operator=3&subtask=2`. Pure. */

/** An operator, and the index of one of its subtasks. Index null: all subtasks of the operator. */
export interface Selection {
  chain: number;
  index: number | null;
}

const NUMBER = /^\d{1,9}$/;

/** Null: no selection. */
export function parseSelection(params: URLSearchParams): Selection | null {
  const number = (name: string): number | null => (NUMBER.test(params.get(name) ?? '') ? Number(params.get(name)) : null);
  const chain = number('operator');
  return chain === null ? null : { chain, index: number('subtask') };
}

export function withSelection(params: URLSearchParams, { chain, index }: Selection): URLSearchParams {
  const after = new URLSearchParams(params);
  after.set('operator', String(chain));
  if (index === null) after.delete('subtask');
  else after.set('subtask', String(index));
  return after;
}
