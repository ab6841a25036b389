import '@xyflow/react/dist/base.css';
import './overview.css';

import { useTheme } from '@mui/material';
import { Controls, MiniMap, ReactFlow, type NodeChange, type NodeTypes, type ReactFlowInstance, type Viewport } from '@xyflow/react';
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { useGradual } from '../../../shared/useGradual';
import { ChainNode } from './ChainNode';
import { Channels } from './Channels';
import type { ChainFigures } from './figures';
import type { PhysicalGraph } from './graph';
import type { Placed } from './layout';
import { variablesOf } from './look';
import { FIT, inSight, looksLike, nodesOf, readable, sameBox, viewportOf, ZOOM_MAX, ZOOM_MIN, type ChainNodeType, type Size } from './nodes';

const NODE_TYPES: NodeTypes = { chain: ChainNode };
/** A graph that is larger than this is easier to find one's way in with a map of it, unless all of it is seen. */
const MAP_FROM_CHAINS = 24;
const SHOWN = {};
const HIDDEN = { display: 'none' };
/** In each frame of the browser so many are drawn anew. */
const NODES_AT_ONCE = 8;
const LABELS = {
  'node.a11yDescription.default': 'Press enter to see its subtasks, escape to close them.',
  'controls.ariaLabel': 'Size of the graph',
  'controls.zoomIn.ariaLabel': 'Larger',
  'controls.zoomOut.ariaLabel': 'Smaller',
  'controls.fitView.ariaLabel': 'All of it',
  'minimap.ariaLabel': 'The whole graph, small',
};

interface Props {
  graph: PhysicalGraph;
  placed: Placed;
  /** By index of the chain. */
  figures: ReadonlyMap<number, ChainFigures>;
  /** Index of the chain that is looked at. */
  chosen: number | null;
  onChoose: (chain: number | null) => void;
}

/** The graph itself, in a room of its own: how large that is decides what is shown first. */
export const FlowGraph = memo(function FlowGraph(props: Props) {
  const { palette } = useTheme();
  const [room, setRoom] = useState<HTMLDivElement | null>(null);
  return (
    <div
      ref={setRoom}
      className="weir-graph"
      style={{ ...variablesOf(palette.mode, palette), height: `clamp(300px, ${Math.ceil(props.placed.height) + 62}px, max(400px, calc(100vh - 330px)))` }}
    >
      {room && <Flow {...props} room={room} />}
    </div>
  );
});

/**
 * Nodes and edges come over several frames, and stay the same objects while barriers move: what moves paints itself (waveSource.ts). Two hundred
 * operators at once would be a pause of the whole page.
 */
function Flow({ graph, placed, figures, chosen, onChoose, room }: Props & { room: HTMLDivElement }) {
  const { palette } = useTheme();
  const flow = useRef<ReactFlowInstance<ChainNodeType> | null>(null);
  const [size, setSize] = useState(() => sizeOf(room));
  const [begin] = useState(() => viewportOf(placed, size));
  const [near, setNear] = useState(() => readable(placed, begin, size));
  const later = useLater();
  const moved = useCallback(
    (viewport: Viewport, now: Size): void =>
      setNear((before) => {
        const after = readable(placed, viewport, now);
        return sameBox(before, after) ? before : after;
      }),
    [placed],
  );
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const now = sizeOf(room);
      setSize(now);
      // In a larger room more of it is seen, though nobody has moved it.
      moved(flow.current?.getViewport() ?? begin, now);
    });
    observer.observe(room);
    return () => observer.disconnect();
  }, [room, moved, begin]);
  // The side panel may take its room from the graph. What was found in that is not made smaller: only the operator is kept in sight.
  const box = chosen === null ? undefined : placed.chains.get(chosen);
  useEffect(() => {
    if (!box) return;
    const frame = requestAnimationFrame(() => {
      const before = flow.current?.getViewport();
      const after = before && inSight(before, box, size);
      if (after && after !== before) void flow.current?.setViewport(after);
    });
    return () => cancelAnimationFrame(frame);
  }, [box, size]);
  const wanted = useMemo(() => (later ? nodesOf(graph, placed, figures, near) : []), [later, graph, placed, figures, near]);
  const shown = useGradual(wanted, NODES_AT_ONCE, looksLike);
  const complete = later && shown.length === wanted.length;
  const nodes = useMemo(() => (chosen === null ? [...shown] : shown.map((node) => (node.data.chain.index === chosen ? { ...node, selected: true } : node))), [shown, chosen]);
  const changed = useCallback(
    (changes: NodeChange<ChainNodeType>[]): void => {
      const picked = changes.find((change) => change.type === 'select' && change.selected);
      if (picked && 'id' in picked) onChoose(Number(picked.id));
      else if (changes.some((change) => change.type === 'select' && Number(change.id) === chosen)) onChoose(null);
    },
    [chosen, onChoose],
  );
  const leave = useCallback(() => onChoose(null), [onChoose]);
  return (
    <ReactFlow
      nodes={nodes}
      nodeTypes={NODE_TYPES}
      onNodesChange={changed}
      onInit={(instance) => {
        flow.current = instance;
      }}
      onPaneClick={leave}
      onViewportChange={(viewport) => moved(viewport, size)}
      defaultViewport={begin}
      minZoom={ZOOM_MIN}
      maxZoom={ZOOM_MAX}
      nodesDraggable={false}
      nodesConnectable={false}
      deleteKeyCode={null}
      selectionKeyCode={null}
      multiSelectionKeyCode={null}
      // The page scrolls over the graph; with Ctrl or Cmd the graph grows and shrinks.
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
      colorMode={palette.mode}
      ariaLabelConfig={LABELS}
    >
      {complete && <Channels graph={graph} placed={placed} figures={figures} near={near} />}
      <Controls showInteractive={false} position="bottom-left" orientation="horizontal" fitViewOptions={FIT} />
      {graph.chains.length >= MAP_FROM_CHAINS && complete && <MiniMap style={near ? SHOWN : HIDDEN} pannable zoomable bgColor={palette.background.paper} nodeColor={palette.text.secondary} maskColor={palette.action.selected} />}
    </ReactFlow>
  );
}

/** False in the first frame, which has enough to do without any nodes. */
function useLater(): boolean {
  const [later, setLater] = useState(false);
  useEffect(() => {
    const frame = requestAnimationFrame(() => setLater(true));
    return () => cancelAnimationFrame(frame);
  }, []);
  return later;
}

const sizeOf = ({ clientWidth: width, clientHeight: height }: HTMLElement): Size => ({ width, height });
