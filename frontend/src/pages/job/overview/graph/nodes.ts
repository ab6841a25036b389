/** Converts the graph to xyflow nodes, one per chain, and computes viewports. Channels.tsx draws the edges. Pure. */
import { getViewportForBounds, type Node, type Viewport } from '@xyflow/react';

import { pluralize, percent } from '../../../../format';
import type { ChainMetrics } from './chainMetrics';
import { chainTitle, type Chain, type PhysicalGraph } from '../../physicalGraph';
import type { Rect, GraphLayout } from './layout';

/** `near`: whether the node is drawn in detail. If `near` is false, the node shows only its title and its coloured cells. */
export type ChainNodeType = Node<{ chain: Chain; near: boolean; metrics: ChainMetrics | undefined }, 'chain'>;

/** Below this zoom, nodes show only their titles, because the lines of a detailed node would be too small to read (graph.css). */
export const NEAR_ZOOM = 0.55;
/** At this zoom, the title of a node is one line, and the rest of the node still has space for the cells. */
export const ZOOM_MIN = 0.12;
/** The minimum zoom at which the search shows an operator. */
const FOUND_ZOOM = 0.8;
export const ZOOM_MAX = 2;
/** The maximum zoom for fitting a graph into the container. Without a maximum zoom, a small graph would be magnified. */
const FIT_ZOOM_MAX = 1.1;
/** The free space around the graph. The space at the bottom contains the zoom controls and the search. */
const MARGIN = { top: 12, left: 12, right: 12, bottom: 50 } as const;
export const FIT = { padding: { top: `${MARGIN.top}px`, left: `${MARGIN.left}px`, right: `${MARGIN.right}px`, bottom: `${MARGIN.bottom}px` }, maxZoom: FIT_ZOOM_MAX } as const;

export interface Size {
  width: number;
  height: number;
}

/** Return the viewport that shows the whole graph. If the container or the graph has no size, as in jsdom, do not pan or zoom. */
export function fitViewport(layout: GraphLayout, container: Size): Viewport {
  if (container.width === 0 || layout.width === 0) return { x: 0, y: 0, zoom: 1 };
  return getViewportForBounds({ x: 0, y: 0, width: layout.width, height: layout.height }, container.width, container.height, ZOOM_MIN, FIT_ZOOM_MAX, FIT.padding);
}

/** Return a viewport with the same zoom, panned just enough to show the box. If the box is visible already, return the same object. */
export function panIntoView(viewport: Viewport, box: Rect, container: Size): Viewport {
  if (container.width === 0) return viewport;
  const { zoom } = viewport;
  const x = nearestOffset(viewport.x, { from: box.x * zoom, length: box.width * zoom }, { from: MARGIN.left, to: container.width - MARGIN.right });
  const y = nearestOffset(viewport.y, { from: box.y * zoom, length: box.height * zoom }, { from: MARGIN.top, to: container.height - MARGIN.bottom });
  return x === viewport.x && y === viewport.y ? viewport : { x, y, zoom };
}

/** Return a viewport with the box in the centre, at a zoom at which its text is easy to read. */
export function centreOn(viewport: Viewport, box: Rect, container: Size): Viewport {
  if (container.width === 0) return viewport;
  const zoom = Math.max(viewport.zoom, FOUND_ZOOM);
  return { x: container.width / 2 - (box.x + box.width / 2) * zoom, y: container.height / 2 - (box.y + box.height / 2) * zoom, zoom };
}

/** Return whether the viewport shows the whole graph. */
export function showsWholeGraph({ width, height }: GraphLayout, { x, y, zoom }: Viewport, container: Size): boolean {
  return container.width === 0 || (x >= 0 && y >= 0 && x + width * zoom <= container.width && y + height * zoom <= container.height);
}

/**
 * Return the offset that is closest to `offset` and moves the whole range into the container. If the container is too small, show the start of the
 * range.
 */
function nearestOffset(offset: number, range: { from: number; length: number }, container: { from: number; to: number }): number {
  return Math.max(container.from - range.from, Math.min(offset, container.to - range.from - range.length));
}

/** The region to draw in detail moves in steps of this size, and extends one step beyond the visible area. */
const STEP = 300;

/** Return the region to draw in detail, or null if the graph is zoomed out too far. */
export function visibleRegion(layout: GraphLayout, { x, y, zoom }: Viewport, container: Size): Rect | null {
  if (zoom < NEAR_ZOOM) return null;
  if (container.width === 0) return { x: 0, y: 0, width: layout.width, height: layout.height };
  const from = (offset: number): number => (Math.floor(-offset / zoom / STEP) - 1) * STEP;
  const to = (offset: number, length: number): number => (Math.ceil((length - offset) / zoom / STEP) + 1) * STEP;
  const [left, top] = [from(x), from(y)];
  return { x: left, y: top, width: to(x, container.width) - left, height: to(y, container.height) - top };
}

export function intersects(one: Rect | null, other: Rect | null): boolean {
  return one !== null && other !== null && one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}

export function isEqualRect(one: Rect | null, other: Rect | null): boolean {
  return one === other || (one !== null && other !== null && one.x === other.x && one.y === other.y && one.width === other.width && one.height === other.height);
}

/** `near`: the region to draw in detail. */
export function flowNodes({ chains }: PhysicalGraph, layout: GraphLayout, metrics: ReadonlyMap<number, ChainMetrics>, near: Rect | null): ChainNodeType[] {
  return chains.flatMap((chain): ChainNodeType[] => {
    const box = layout.chains.get(chain.index);
    if (!box) return [];
    const { x, y, width, height } = box;
    return [
      {
        id: String(chain.index), type: 'chain', position: { x, y }, width, height, data: { chain, near: intersects(near, box), metrics: metrics.get(chain.index) },
        ariaLabel: nodeLabel(chain, metrics.get(chain.index)),
        // The layout has computed the size of the node. If a node has a size, xyflow does not measure the DOM.
        measured: { width, height }, handles: [],
      },
    ];
  });
}

/** Return the accessible name of a node, which includes the metrics that show a bottleneck. */
function nodeLabel(chain: Chain, metrics: ChainMetrics | undefined): string {
  const parts = [chainTitle(chain), pluralize(chain.parallelism, 'subtask')];
  if (metrics?.busiest) parts.push(`up to ${percent(metrics.busiest.busy)} busy`);
  if (metrics?.worst) parts.push(`up to ${percent(metrics.worst.pressure)} pressure${metrics.level ? ` (${metrics.level})` : ''}`);
  if (metrics?.bottleneck) parts.push('bottleneck');
  return parts.join(', ');
}

/** Return whether both nodes look the same. When the graph is zoomed out, a node shows only its backpressure level and its label. */
export function isEqualNode(first: ChainNodeType, second: ChainNodeType): boolean {
  const { id, data: one, position: at, ariaLabel: label } = first;
  const { id: otherId, data: other, position: otherAt, ariaLabel: otherLabel } = second;
  if (id !== otherId || one.chain !== other.chain || one.near !== other.near || at.x !== otherAt.x || at.y !== otherAt.y) return false;
  return one.near ? one.metrics === other.metrics : one.metrics?.level === other.metrics?.level && label === otherLabel;
}
