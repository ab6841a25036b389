import type { Schemas } from '../../../api/types';

/** What runs in a chain, as people call it. */
export function nameOf({ chain, operators }: { chain: number; operators: readonly Schemas['OperatorNameBody'][] }): string {
  return operators.map(({ name }) => name).join(' → ') || `chain ${chain}`;
}
