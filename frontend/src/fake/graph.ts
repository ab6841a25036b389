/** Physical graphs in the runtime's format (`weir.graph.physical`), with only the fields that the UI reads. */
interface FakeInput {
  operator: string;
  partitioning: 'forward' | 'hash' | 'rebalance' | 'broadcast' | 'global';
  key: string[];
  feedback: boolean;
}
interface FakeOperator {
  uid: string;
  name: string;
  kind: string;
  inputs: FakeInput[];
  stateful: boolean;
  columns: { name: string; type: string; nullable: boolean }[];
  parallelism: number | null;
  site: string;
  config: Record<string, unknown>;
}
interface FakeChain {
  index: number;
  operators: string[];
  parallelism: number;
}
interface FakeEdge {
  index: number;
  source: number;
  target: number;
  target_input: number;
  partitioning: FakeInput['partitioning'];
  key: string[];
  feedback: boolean;
}
export interface FakeGraph {
  logical: { job: string; version: number; operators: FakeOperator[] };
  slots: number;
  chains: FakeChain[];
  edges: FakeEdge[];
  max_parallelism: Record<string, number>;
}

type Step = [uid: string, name: string, kind: string, from: [uid: string, partitioning: FakeInput['partitioning'], ...key: string[]][]];

/** Build a graph. An operator joins the chain of its only input if the edge is `forward` and the input has no other reader. */
export function graphOf(job: string, parallelism: number, steps: Step[]): FakeGraph {
  const operators = steps.map(([uid, name, kind, from], at): FakeOperator => ({
    uid, name, kind, stateful: kind === 'aggregate', columns: [{ name: 'key', type: 'string', nullable: true }, { name: 'value', type: 'int64', nullable: true }],
    inputs: from.map(([operator, partitioning, ...key]) => ({ operator, partitioning, key, feedback: false })),
    parallelism: null, site: `${job}.py:${12 + 7 * at}`, config: {},
  }));
  const readers = (uid: string): number => operators.filter(({ inputs }) => inputs.some(({ operator }) => operator === uid)).length;
  const chainOf = new Map<string, FakeChain>();
  const chains: FakeChain[] = [];
  for (const { uid, inputs } of operators) {
    const [only] = inputs;
    const before = inputs.length === 1 && only!.partitioning === 'forward' && readers(only!.operator) === 1 ? chainOf.get(only!.operator) : undefined;
    const chain = before ?? { index: chains.length, operators: [], parallelism };
    if (!before) chains.push(chain);
    chain.operators.push(uid);
    chainOf.set(uid, chain);
  }
  const edges = operators.flatMap(({ uid, inputs }) =>
    inputs
      .filter(({ operator }) => chainOf.get(operator) !== chainOf.get(uid))
      .map(({ operator, partitioning, key }, at) => ({
        source: chainOf.get(operator)!.index, target: chainOf.get(uid)!.index, target_input: at, partitioning, key, feedback: false,
      })),
  );
  return {
    logical: { job, version: 1, operators },
    slots: parallelism,
    chains,
    edges: edges.map((edge, index) => ({ index, ...edge })),
    max_parallelism: Object.fromEntries(operators.map(({ uid }) => [uid, 128])),
  };
}

export const subtasksOf = ({ chains }: FakeGraph): [chain: number, index: number][] =>
  chains.flatMap(({ index, parallelism }) => Array.from({ length: parallelism }, (_, subtask): [number, number] => [index, subtask]));
