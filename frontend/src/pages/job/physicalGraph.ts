/**
 * The physical graph of a run. The API does not validate the graph that the driver wrote, so `parseGraph` drops invalid parts. Chains and edges are
 * in topological order, except for feedback edges.
 */
export interface Operator {
  uid: string;
  name: string;
  kind: string;
  stateful: boolean;
  /** Source location: `flights.py:12`. */
  site: string;
}

/** Operators fused into one subtask. */
export interface Chain {
  index: number;
  operators: Operator[];
  parallelism: number;
}

export interface Edge {
  index: number;
  source: number;
  target: number;
  partitioning: string;
  key: string[];
  feedback: boolean;
}

export interface PhysicalGraph {
  chains: Chain[];
  edges: Edge[];
}

type Json = Record<string, unknown>;

export function parseGraph(graph: Json): PhysicalGraph {
  const logical = isObject(graph.logical) ? graph.logical : {};
  const operatorsByUid = new Map(objects(logical.operators).map((one) => [one.uid, one]));
  const chains = objects(graph.chains)
    .filter(({ index, operators, parallelism }) => isNonNegativeInteger(index) && Array.isArray(operators) && isNonNegativeInteger(parallelism))
    .map(({ index, operators, parallelism }) => ({
      index: index as number,
      parallelism: parallelism as number,
      operators: (operators as unknown[]).map((uid) => parseOperator(String(uid), operatorsByUid.get(uid))),
    }))
    .sort((a, b) => a.index - b.index);
  const indexes = new Set(chains.map(({ index }) => index));
  const edges = objects(graph.edges)
    .filter(({ source, target }) => indexes.has(source as number) && indexes.has(target as number))
    .map(({ index, source, target, partitioning, key, feedback }, at) => ({
      index: isNonNegativeInteger(index) ? index : at,
      source: source as number,
      target: target as number,
      partitioning: typeof partitioning === 'string' ? partitioning : '',
      key: Array.isArray(key) ? key.map(String) : [],
      feedback: feedback === true,
    }));
  return { chains, edges };
}

function parseOperator(uid: string, graph: Json | undefined): Operator {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { uid, name: text(graph?.name) || uid, kind: text(graph?.kind), stateful: graph?.stateful === true, site: text(graph?.site) };
}

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const isNonNegativeInteger = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0;
const objects = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Return the names of a chain's operators, from first to last. */
export const chainName = (operators: readonly { name: string }[], index: number): string => operators.map(({ name }) => name).join(' → ') || `chain ${index}`;

/** Return the kind of an operator, and its name if the name differs from the uid: `filter, late only`. */
export const operatorSubtitle = ({ uid, name, kind }: Operator): string => (name === uid ? kind : `${kind}, ${name}`);

/** Return the uids of a chain's operators, from first to last. The graph shows uids, because state belongs to uids and the code contains them. */
export const chainTitle = ({ operators, index }: Chain): string => operators.map(({ uid }) => uid).join(' → ') || `chain ${index}`;

/** `hash origin, dest`. */
export const partitioningLabel = ({ partitioning, key }: Edge): string => (key.length > 0 ? `${partitioning} ${key.join(', ')}` : partitioning);

/**
 * Return the number of channels of an edge. A forward edge connects subtasks with equal indexes. An edge that is not forward connects each source
 * subtask to each target subtask.
 */
export function channelCount(edge: Edge, { chains }: PhysicalGraph): number {
  const parallelism = (index: number): number => chains.find((one) => one.index === index)?.parallelism ?? 0;
  return edge.partitioning === 'forward' ? parallelism(edge.source) : parallelism(edge.source) * parallelism(edge.target);
}
