import type { Schemas } from '../../../api/types';

/** What runs in a chain, as people call it. */
export function chainName({ chain, operators }: { chain: number; operators: readonly Schemas['OperatorNameRead'][] }): string {
  return operators.map(({ name }) => name).join(' → ') || `chain ${chain}`;
}
