/** Reads and writes the selected operator and subtask in the URL, such as `?operator=3&subtask=2`. Pure. */

/** A selected operator or subtask. If `index` is null, all subtasks of the operator are selected. */
export interface Selection {
  chain: number;
  index: number | null;
}

const NUMBER = /^\d{1,9}$/;

/** Return null if the URL selects no operator. */
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
