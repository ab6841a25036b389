/**
 * Computes the input of elkjs, and parses the output of elkjs into the geometry of chains, edges and labels. elk.ts runs elkjs in a worker. All
 * positions and lengths are in pixels at zoom 1, and positions start at the top left corner. Pure.
 */
import type { ElkExtendedEdge, ElkNode, ElkPoint } from 'elkjs/lib/elk-api';

import { partitioningLabel, type Chain, type Edge, type PhysicalGraph } from '../../physicalGraph';

export const NODE_WIDTH = 206;
/** The maximum number of operator names in a node. The chain panel lists all operators. */
export const NAMES_MAX = 4;
/** The height of an operator: its uid and, below it, its kind. */
const NAME_HEIGHT = 36;
/** The height of the metrics. A node always has three lines of metrics, so that its height does not change when metrics arrive. */
const FACTS_HEIGHT = 60;
const PADDING = 8;

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}
export interface GraphLayout {
  width: number;
  height: number;
  /** By chain index. */
  chains: Map<number, Rect>;
  /** By edge index. `path`: an SVG path. */
  edges: Map<number, { path: string; label: Rect | null }>;
}

// ---- cells of subtasks -------------------------------------------------------------------------

export interface CellGrid {
  size: number;
  step: number;
  columns: number;
  rows: number;
}

const CELLS_WIDTH = NODE_WIDTH - 2 * PADDING - 6;
/** The possible distances between cells, in descending order. At the smallest distance, cells are still readable. */
const STEPS = [17, 13, 10, 7] as const;
const ROWS_MAX = 4;

/** Return a grid with the largest cells that fit into four rows. */
export function cellGrid(parallelism: number): CellGrid {
  const step = STEPS.find((one) => Math.ceil(parallelism / Math.floor(CELLS_WIDTH / one)) <= ROWS_MAX) ?? STEPS.at(-1)!;
  const columns = Math.floor(CELLS_WIDTH / step);
  return { step, size: step - (step > 10 ? 3 : 2), columns, rows: Math.max(1, Math.ceil(parallelism / columns)) };
}

/** Return a grid whose cells fill the node. When the graph is zoomed out, a node shows only its cells. */
export function zoomedOutCellGrid(parallelism: number, height: number): CellGrid {
  const available = Math.max(STEPS.at(-1)!, height - 2 * PADDING);
  let step = Math.min(CELLS_WIDTH, available);
  while (step > 1 && Math.floor(CELLS_WIDTH / step) * Math.floor(available / step) < parallelism) step -= 1;
  const columns = Math.max(1, Math.floor(CELLS_WIDTH / step));
  return { step, size: step * 0.88, columns, rows: Math.max(1, Math.ceil(parallelism / columns)) };
}

/**
 * For each wavefront step, the share of a cell's height that is filled. Each step fills a different share of the cell, so that users can distinguish
 * the steps without colour.
 */
export const STEP_FILL = [0, 0.4, 0.75, 1] as const;

/** Return an SVG path of the cells for which `is` returns true. Each cell is filled from the bottom up to `share` of its height. */
export function cellPath(cells: CellGrid, parallelism: number, is: (index: number) => boolean, share: number): string {
  const { size, step, columns } = cells;
  const filledHeight = size * share;
  let path = '';
  for (let at = 0; at < parallelism; at += 1) {
    if (!is(at)) continue;
    const x = (at % columns) * step;
    const y = Math.floor(at / columns) * step + size - filledHeight;
    path += `M${x} ${y}h${size}v${filledHeight}h${-size}z`;
  }
  return path;
}

export function nodeHeight({ operators, parallelism }: Chain): number {
  const named = Math.min(operators.length, NAMES_MAX) + (operators.length > NAMES_MAX ? 1 : 0);
  const { rows, step } = cellGrid(parallelism);
  return PADDING + Math.max(1, named) * NAME_HEIGHT + FACTS_HEIGHT + rows * step + PADDING;
}

// ---- for elkjs ---------------------------------------------------------------------------------

const CHARACTER = 6.1;
const LABEL = { height: 30, widthMin: 92, widthMax: 168 };

function labelWidth(edge: Edge): number {
  return Math.min(LABEL.widthMax, Math.max(LABEL.widthMin, partitioningLabel(edge).length * CHARACTER + 12));
}

const chainId = (index: number): string => `c${index}`;
const edgeId = (index: number): string => `e${index}`;

export function toElkGraph(graph: PhysicalGraph): ElkNode {
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
      // Where possible, chains have the same order as in the program.
      'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
      'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
      'elk.padding': '[top=12,left=12,bottom=12,right=12]',
    },
    children: graph.chains.map((chain) => ({ id: chainId(chain.index), width: NODE_WIDTH, height: nodeHeight(chain) })),
    edges: graph.edges.map((edge) => ({
      id: edgeId(edge.index),
      sources: [chainId(edge.source)],
      targets: [chainId(edge.target)],
      labels: [
        {
          text: partitioningLabel(edge), width: labelWidth(edge), height: LABEL.height,
          layoutOptions: { 'elk.edgeLabels.placement': 'CENTER', 'elk.edgeLabels.inline': 'true' },
        },
      ],
    })),
  };
}

export function fromElkGraph(answer: ElkNode): GraphLayout {
  const chains = new Map((answer.children ?? []).map((one) => [Number(one.id.slice(1)), toRect(one)]));
  const edges = new Map(
    (answer.edges ?? []).map((edge) => {
      const [label] = edge.labels ?? [];
      return [Number(edge.id.slice(1)), { path: roundedPath(edgePoints(edge)), label: label ? toRect(label) : null }];
    }),
  );
  return { width: answer.width ?? 0, height: answer.height ?? 0, chains, edges };
}

function toRect({ x = 0, y = 0, width = 0, height = 0 }: Partial<Rect>): Rect {
  return { x, y, width, height };
}

function edgePoints({ sections = [] }: ElkExtendedEdge): ElkPoint[] {
  return sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]);
}

const RADIUS = 8;

/** Return an SVG path through all points with rounded corners. */
export function roundedPath(points: readonly ElkPoint[], radius = RADIUS): string {
  return points
    .map((point, at) => {
      const before = points[at - 1];
      const after = points[at + 1];
      if (!before) return `M${point.x} ${point.y}`;
      if (!after) return `L${point.x} ${point.y}`;
      const cornerRadius = Math.min(radius, distance(before, point) / 2, distance(point, after) / 2);
      const from = towards(point, before, cornerRadius);
      const to = towards(point, after, cornerRadius);
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
