/** The operators of a physical graph, in the order of their chains. The API gives the graph as the runtime writes it. */
export interface Operator {
  uid: string;
  name: string;
  kind: string;
  chain: number;
  parallelism: number;
}

interface Graph {
  logical?: { operators?: { uid: string; name?: string | null; kind: string }[] };
  chains?: { index: number; operators: string[]; parallelism: number }[];
}

export function operatorsOf(graph: Record<string, unknown>): Operator[] {
  const { logical, chains = [] } = graph as Graph;
  const known = new Map((logical?.operators ?? []).map((one) => [one.uid, one]));
  return chains.flatMap(({ index, operators, parallelism }) =>
    operators.map((uid) => ({ uid, name: known.get(uid)?.name || uid, kind: known.get(uid)?.kind ?? '', chain: index, parallelism })),
  );
}
