/** Pure functions that compute the layout of a graph preview. Operators are in layers from left to right. */
import { mean } from '../../shared/statistics';

export interface Node {
  uid: string;
  name: string;
  kind: string;
  parallelism: number | null;
  x: number;
  y: number;
}
export interface Link {
  key: string;
  path: string;
  partitioning: string;
}
export interface Drawing {
  nodes: Node[];
  links: Link[];
  width: number;
  height: number;
}

interface Input {
  operator: string;
  partitioning?: string;
  feedback?: boolean;
}
interface Graph {
  logical?: { operators?: { uid: string; name?: string | null; kind: string; inputs?: Input[] }[] };
  chains?: { operators: string[]; parallelism: number }[];
}

export const NODE_WIDTH = 158;
export const NODE_HEIGHT = 44;
const ACROSS = 56;
const DOWN = 18;
const MARGIN = 8;

export function layoutGraph(graph: Record<string, unknown>): Drawing {
  const { logical, chains = [] } = graph as Graph;
  const operators = logical?.operators ?? [];
  const subtasks = new Map(chains.flatMap(({ operators: uids, parallelism }) => uids.map((uid) => [uid, parallelism])));
  const inputs = new Map(operators.map(({ uid, inputs: from = [] }) => [uid, from]));
  const layer = layersOf(inputs);
  const rows = rowsOf(operators.map(({ uid }) => uid), inputs, layer);
  const nodes = operators.map(({ uid, name, kind }): Node => ({
    uid, name: name || uid, kind, parallelism: subtasks.get(uid) ?? null,
    x: MARGIN + layer.get(uid)! * (NODE_WIDTH + ACROSS), y: MARGIN + rows.get(uid)! * (NODE_HEIGHT + DOWN),
  }));
  const at = new Map(nodes.map((node) => [node.uid, node]));
  const links = operators.flatMap(({ uid, inputs: from = [] }) =>
    from.flatMap(({ operator, partitioning = 'forward' }, index): Link[] => {
      const [source, target] = [at.get(operator), at.get(uid)!];
      return source ? [{ key: `${operator}-${uid}-${index}`, path: curve(source, target), partitioning }] : [];
    }),
  );
  return {
    nodes,
    links,
    width: Math.max(0, ...nodes.map(({ x }) => x + NODE_WIDTH)) + MARGIN,
    height: Math.max(0, ...nodes.map(({ y }) => y + NODE_HEIGHT)) + MARGIN,
  };
}

/** Return the layer of each operator, which is one more than the highest layer of its inputs. This function ignores feedback edges. */
function layersOf(inputs: ReadonlyMap<string, readonly Input[]>): Map<string, number> {
  const found = new Map<string, number>();
  const visit = (uid: string, above: ReadonlySet<string>): number => {
    const known = found.get(uid);
    if (known !== undefined) return known;
    const here = new Set(above).add(uid);
    const from = (inputs.get(uid) ?? []).filter(({ operator, feedback }) => !feedback && inputs.has(operator) && !here.has(operator));
    const layer = Math.max(-1, ...from.map(({ operator }) => visit(operator, here))) + 1;
    found.set(uid, layer);
    return layer;
  };
  for (const uid of inputs.keys()) visit(uid, new Set());
  return found;
}

/** Return the row of each operator. Within a layer, each operator gets the free row that is closest to the rows of its inputs. */
function rowsOf(uids: readonly string[], inputs: ReadonlyMap<string, readonly Input[]>, layer: ReadonlyMap<string, number>): Map<string, number> {
  const rows = new Map<string, number>();
  const layers = Math.max(-1, ...layer.values()) + 1;
  for (let at = 0; at < layers; at += 1) {
    const wanted = uids.filter((uid) => layer.get(uid) === at).map((uid, index) => {
      const from = inputs.get(uid)!.map(({ operator }) => rows.get(operator)).filter((row) => row !== undefined);
      return { uid, row: from.length === 0 ? index : mean(from) };
    });
    let free = 0;
    for (const { uid, row } of wanted.sort((a, b) => a.row - b.row)) {
      const taken = Math.max(free, row);
      rows.set(uid, taken);
      free = taken + 1;
    }
  }
  return rows;
}

function curve(from: Node, to: Node): string {
  const [x1, y1, x2, y2] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2, to.x, to.y + NODE_HEIGHT / 2];
  const bend = Math.max(ACROSS / 2, Math.abs(x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
