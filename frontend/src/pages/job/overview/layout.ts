/**
 * Where chains, edges and their labels are: what is given to elkjs and what is made of its answer. Pure; elkjs itself runs in a worker
 * (elk.ts). Pixels at a zoom of 1, from the top left.
 */
import type { ElkExtendedEdge, ElkNode, ElkPoint } from 'elkjs/lib/elk-api';

import { dealingOf, type Chain, type Edge, type PhysicalGraph } from './graph';

export const NODE_WIDTH = 206;
/** Of a chain of many operators so many are named; the rest is in the side panel. */
export const NAMED_MAX = 4;
const NAME_HEIGHT = 19;
/** Three lines, whatever is known: a node does not grow when it is measured. */
const FACTS_HEIGHT = 60;
const PADDING = 8;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}
export interface Placed {
  width: number;
  height: number;
  /** By index of the chain. */
  chains: Map<number, Box>;
  /** By index of the edge. `path`: of an SVG. */
  edges: Map<number, { path: string; label: Box | null }>;
}

// ---- cells of subtasks -------------------------------------------------------------------------

export interface Cells {
  size: number;
  step: number;
  columns: number;
  rows: number;
}

const WIDE = NODE_WIDTH - 2 * PADDING - 6;
/** From the largest to the smallest that can still be told apart. */
const STEPS = [17, 13, 10, 7] as const;
const ROWS_MAX = 4;

/** How the cells of so many subtasks stand in their node: as large as four rows allow. */
export function cellsOf(parallelism: number): Cells {
  const step = STEPS.find((one) => Math.ceil(parallelism / Math.floor(WIDE / one)) <= ROWS_MAX) ?? STEPS.at(-1)!;
  const columns = Math.floor(WIDE / step);
  return { step, size: step - (step > 10 ? 3 : 2), columns, rows: Math.max(1, Math.ceil(parallelism / columns)) };
}

/** Where nothing but the cells is shown of a chain they are as large as its box allows. */
export function farCellsOf(parallelism: number, height: number): Cells {
  const tall = Math.max(STEPS.at(-1)!, height - 2 * PADDING);
  let step = Math.min(WIDE, tall);
  while (step > 1 && Math.floor(WIDE / step) * Math.floor(tall / step) < parallelism) step -= 1;
  const columns = Math.max(1, Math.floor(WIDE / step));
  return { step, size: step * 0.88, columns, rows: Math.max(1, Math.ceil(parallelism / columns)) };
}

/** How much of its cell is filled for each step of the wavefront: colour is never all. */
export const FILLED = [0, 0.4, 0.75, 1] as const;

/** Of the subtasks for which `is` says so: a path of rectangles, each filled from below to `share` of its height. */
export function cellPath(cells: Cells, parallelism: number, is: (index: number) => boolean, share: number): string {
  const { size, step, columns } = cells;
  const tall = size * share;
  let path = '';
  for (let at = 0; at < parallelism; at += 1) {
    if (!is(at)) continue;
    const x = (at % columns) * step;
    const y = Math.floor(at / columns) * step + size - tall;
    path += `M${x} ${y}h${size}v${tall}h${-size}z`;
  }
  return path;
}

export function heightOf({ operators, parallelism }: Chain): number {
  const named = Math.min(operators.length, NAMED_MAX) + (operators.length > NAMED_MAX ? 1 : 0);
  const { rows, step } = cellsOf(parallelism);
  return PADDING + Math.max(1, named) * NAME_HEIGHT + FACTS_HEIGHT + rows * step + PADDING;
}

// ---- for elkjs ---------------------------------------------------------------------------------

const CHARACTER = 6.1;
const LABEL = { height: 30, widthMin: 92, widthMax: 168 };

export function labelWidth(edge: Edge): number {
  return Math.min(LABEL.widthMax, Math.max(LABEL.widthMin, dealingOf(edge).length * CHARACTER + 12));
}

const chainId = (index: number): string => `c${index}`;
const edgeId = (index: number): string => `e${index}`;

export function elkOf(graph: PhysicalGraph): ElkNode {
  return {
    id: 'graph',
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': 'RIGHT',
      'elk.edgeRouting': 'ORTHOGONAL',
      'elk.spacing.nodeNode': '26',
      'elk.spacing.edgeNode': '16',
      'elk.spacing.edgeEdge': '14',
      'elk.layered.spacing.nodeNodeBetweenLayers': '26',
      'elk.layered.spacing.edgeNodeBetweenLayers': '14',
      // The order of the graph is that of the program: what was written first stays above where it can.
      'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
      'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
      'elk.padding': '[top=12,left=12,bottom=12,right=12]',
    },
    children: graph.chains.map((chain) => ({ id: chainId(chain.index), width: NODE_WIDTH, height: heightOf(chain) })),
    edges: graph.edges.map((edge) => ({
      id: edgeId(edge.index),
      sources: [chainId(edge.source)],
      targets: [chainId(edge.target)],
      labels: [
        {
          text: dealingOf(edge), width: labelWidth(edge), height: LABEL.height,
          layoutOptions: { 'elk.edgeLabels.placement': 'CENTER', 'elk.edgeLabels.inline': 'true' },
        },
      ],
    })),
  };
}

export function placedOf(answer: ElkNode): Placed {
  const chains = new Map((answer.children ?? []).map((one) => [Number(one.id.slice(1)), boxOf(one)]));
  const edges = new Map(
    (answer.edges ?? []).map((edge) => {
      const [label] = edge.labels ?? [];
      return [Number(edge.id.slice(1)), { path: pathOf(pointsOf(edge)), label: label ? boxOf(label) : null }];
    }),
  );
  return { width: answer.width ?? 0, height: answer.height ?? 0, chains, edges };
}

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box {
  return { x, y, width, height };
}

function pointsOf({ sections = [] }: ElkExtendedEdge): ElkPoint[] {
  return sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]);
}

const RADIUS = 8;

/** A line through all points, its corners rounded as far as there is room. */
export function pathOf(points: readonly ElkPoint[], radius = RADIUS): string {
  return points
    .map((point, at) => {
      const before = points[at - 1];
      const after = points[at + 1];
      if (!before) return `M${point.x} ${point.y}`;
      if (!after) return `L${point.x} ${point.y}`;
      const room = Math.min(radius, distance(before, point) / 2, distance(point, after) / 2);
      const from = towards(point, before, room);
      const to = towards(point, after, room);
      return `L${from.x} ${from.y}Q${point.x} ${point.y} ${to.x} ${to.y}`;
    })
    .join('');
}

const distance = (a: ElkPoint, b: ElkPoint): number => Math.hypot(a.x - b.x, a.y - b.y);

function towards(from: ElkPoint, to: ElkPoint, length: number): ElkPoint {
  const whole = distance(from, to);
  const share = whole === 0 ? 0 : length / whole;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
