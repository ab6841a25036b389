/** The graph as xyflow wants it: a node for each chain. What lies between them is drawn by Channels.tsx. Pure. */
import { getViewportForBounds, type Node, type Viewport } from '@xyflow/react';

import { counted, percent } from '../../../format';
import type { ChainFigures } from './figures';
import { nameOf, type Chain, type PhysicalGraph } from './graph';
import type { Box, Placed } from './layout';

/** `near`: names and figures can be read. From far there are only boxes with their subtasks, coloured. */
export type ChainNodeType = Node<{ chain: Chain; near: boolean; figures: ChainFigures | undefined }, 'chain'>;

/** Below this nobody can read what is written: so it is not. */
export const NEAR_ZOOM = 0.42;
export const ZOOM_MIN = 0.08;
export const ZOOM_MAX = 2;
/** Not larger than this to fill the room there is. */
const FIT_ZOOM_MAX = 1.1;
/** Around what is to be seen. Below there is room for what the graph is made larger with. */
const MARGIN = { top: 12, left: 12, right: 12, bottom: 50 } as const;
export const FIT = { padding: { top: `${MARGIN.top}px`, left: `${MARGIN.left}px`, right: `${MARGIN.right}px`, bottom: `${MARGIN.bottom}px` }, maxZoom: FIT_ZOOM_MAX } as const;

export interface Size {
  width: number;
  height: number;
}

/** All of it. Where nothing has a size (no browser draws it) it is as large as it is. */
export function viewportOf(placed: Placed, room: Size): Viewport {
  if (room.width === 0 || placed.width === 0) return { x: 0, y: 0, zoom: 1 };
  return getViewportForBounds({ x: 0, y: 0, width: placed.width, height: placed.height }, room.width, room.height, ZOOM_MIN, FIT_ZOOM_MAX, FIT.padding);
}

/** Moved only so far that the box is seen in the room there is, as large as before: whoever looks at it loses nothing else. The same if it is seen. */
export function inSight(viewport: Viewport, box: Box, room: Size): Viewport {
  if (room.width === 0) return viewport;
  const { zoom } = viewport;
  const x = seen(viewport.x, { from: box.x * zoom, length: box.width * zoom }, { from: MARGIN.left, to: room.width - MARGIN.right });
  const y = seen(viewport.y, { from: box.y * zoom, length: box.height * zoom }, { from: MARGIN.top, to: room.height - MARGIN.bottom });
  return x === viewport.x && y === viewport.y ? viewport : { x, y, zoom };
}

/** The offset by which a stretch lies in the room, as near to `offset` as can be. Its beginning counts where there is not room for all of it. */
function seen(offset: number, stretch: { from: number; length: number }, room: { from: number; to: number }): number {
  return Math.max(room.from - stretch.from, Math.min(offset, room.to - stretch.from - stretch.length));
}

/** It moves in such steps, and reaches as far beyond what is seen: what is a little aside is there already when somebody moves it in. */
const STEP = 300;

/** The part of the graph in which things are drawn so that they can be read; null: nowhere, it is too far away. */
export function readable(placed: Placed, { x, y, zoom }: Viewport, room: Size): Box | null {
  if (zoom < NEAR_ZOOM) return null;
  if (room.width === 0) return { x: 0, y: 0, width: placed.width, height: placed.height };
  const from = (offset: number): number => (Math.floor(-offset / zoom / STEP) - 1) * STEP;
  const to = (offset: number, length: number): number => (Math.ceil((length - offset) / zoom / STEP) + 1) * STEP;
  const [left, top] = [from(x), from(y)];
  return { x: left, y: top, width: to(x, room.width) - left, height: to(y, room.height) - top };
}

export function overlap(one: Box | null, other: Box | null): boolean {
  return one !== null && other !== null && one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}

export function sameBox(one: Box | null, other: Box | null): boolean {
  return one === other || (one !== null && other !== null && one.x === other.x && one.y === other.y && one.width === other.width && one.height === other.height);
}

/** `near`: see `readable`. */
export function nodesOf({ chains }: PhysicalGraph, placed: Placed, figures: ReadonlyMap<number, ChainFigures>, near: Box | null): ChainNodeType[] {
  return chains.flatMap((chain): ChainNodeType[] => {
    const box = placed.chains.get(chain.index);
    if (!box) return [];
    const { x, y, width, height } = box;
    return [
      {
        id: String(chain.index), type: 'chain', position: { x, y }, width, height, data: { chain, near: overlap(near, box), figures: figures.get(chain.index) },
        ariaLabel: saidOf(chain, figures.get(chain.index)),
        // Known from the layout, so that nobody has to measure them.
        measured: { width, height }, handles: [],
      },
    ];
  });
}

/** What a node is called for who cannot see it: where the bottleneck is can be heard as well. */
function saidOf(chain: Chain, figures: ChainFigures | undefined): string {
  const said = [nameOf(chain), counted(chain.parallelism, 'subtask')];
  if (figures?.busiest) said.push(`at most ${percent(figures.busiest.busy)} busy`);
  if (figures?.worst) said.push(`at most ${percent(figures.worst.backpressured)} back-pressured${figures.level ? ` (${figures.level})` : ''}`);
  return said.join(', ');
}

/** Nothing that is seen or heard of it has changed: from far the figures are but a colour and a name. */
export function looksLike(first: ChainNodeType, second: ChainNodeType): boolean {
  const { id, data: one, position: at, ariaLabel: said } = first;
  const { id: otherId, data: other, position: otherAt, ariaLabel: otherSaid } = second;
  if (id !== otherId || one.chain !== other.chain || one.near !== other.near || at.x !== otherAt.x || at.y !== otherAt.y) return false;
  return one.near ? one.figures === other.figures : one.figures?.level === other.figures?.level && said === otherSaid;
}
