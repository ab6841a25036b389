/**
 * The physical graph of a run, as far as this page shows it. The API gives it as the driver wrote it, so nothing is taken for granted: what
 * is not as expected is left out. Chains and edges stand in topological order, feedback edges apart.
 */
export interface Operator {
  uid: string;
  name: string;
  kind: string;
  stateful: boolean;
  /** Where its author wrote it: `flights.py:12`. */
  site: string;
}

/** Operators that run in one subtask. */
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

type Loose = Record<string, unknown>;

export function graphOf(told: Loose): PhysicalGraph {
  const logical = isObject(told.logical) ? told.logical : {};
  const known = new Map(objects(logical.operators).map((one) => [one.uid, one]));
  const chains = objects(told.chains)
    .filter(({ index, operators, parallelism }) => isCount(index) && Array.isArray(operators) && isCount(parallelism))
    .map(({ index, operators, parallelism }) => ({
      index: index as number,
      parallelism: parallelism as number,
      operators: (operators as unknown[]).map((uid) => operatorOf(String(uid), known.get(uid))),
    }))
    .sort((a, b) => a.index - b.index);
  const there = new Set(chains.map(({ index }) => index));
  const edges = objects(told.edges)
    .filter(({ source, target }) => there.has(source as number) && there.has(target as number))
    .map(({ index, source, target, partitioning, key, feedback }, at) => ({
      index: isCount(index) ? index : at,
      source: source as number,
      target: target as number,
      partitioning: typeof partitioning === 'string' ? partitioning : '',
      key: Array.isArray(key) ? key.map(String) : [],
      feedback: feedback === true,
    }));
  return { chains, edges };
}

function operatorOf(uid: string, told: Loose | undefined): Operator {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { uid, name: text(told?.name) || uid, kind: text(told?.kind), stateful: told?.stateful === true, site: text(told?.site) };
}

const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0;
const objects = (value: unknown): Loose[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** What a chain is called: by its operators, first to last. */
export const nameOf = ({ operators, index }: Chain): string => operators.map(({ name }) => name).join(' → ') || `chain ${index}`;

/** `hash origin, dest`. */
export const dealingOf = ({ partitioning, key }: Edge): string => (key.length > 0 ? `${partitioning} ${key.join(', ')}` : partitioning);

/** How many channels an edge has: forward joins subtasks of one number, everything else all to all. */
export function channelsOf(edge: Edge, { chains }: PhysicalGraph): number {
  const parallelism = (index: number): number => chains.find((one) => one.index === index)?.parallelism ?? 0;
  return edge.partitioning === 'forward' ? parallelism(edge.source) : parallelism(edge.source) * parallelism(edge.target);
}
