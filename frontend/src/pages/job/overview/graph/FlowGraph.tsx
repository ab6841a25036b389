import '@xyflow/react/dist/base.css';
import { useTheme } from '@mui/material';
import { Controls, MiniMap, ReactFlow, type NodeChange, type NodeTypes, type ReactFlowInstance, type Viewport } from '@xyflow/react';
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';

import './graph.css';
import { useIncrementalList } from '../../../../shared/incrementalList';
import { ChainNode } from './ChainNode';
import { Channels } from './Channels';
import type { ChainMetrics } from './chainMetrics';
import type { PhysicalGraph } from '../../physicalGraph';
import type { GraphLayout } from './layout';
import { cssVariables } from './graphTheme';
import { FIT, panIntoView, isEqualNode, flowNodes, visibleRegion, isEqualRect, fitViewport, ZOOM_MAX, ZOOM_MIN, type ChainNodeType, type Size } from './nodes';

const NODE_TYPES: NodeTypes = { chain: ChainNode };
/** A graph with at least this number of chains has a minimap when it is zoomed in. */
const MAP_FROM_CHAINS = 24;
const SHOWN = {};
const HIDDEN = { display: 'none' };
/** The number of nodes that are rendered in one animation frame. */
const NODES_AT_ONCE = 8;
const LABELS = {
  'node.a11yDescription.default': 'Press Enter to show the subtasks of this chain, and Escape to close the list of subtasks.',
  'controls.ariaLabel': 'Graph zoom',
  'controls.zoomIn.ariaLabel': 'Zoom in',
  'controls.zoomOut.ariaLabel': 'Zoom out',
  'controls.fitView.ariaLabel': 'Fit graph',
  'minimap.ariaLabel': 'Minimap',
};

interface Props {
  graph: PhysicalGraph;
  layout: GraphLayout;
  /** By chain index. */
  metrics: ReadonlyMap<number, ChainMetrics>;
  /** The index of the selected chain. */
  selected: number | null;
  onSelect: (chain: number | null) => void;
}

/** The graph in its container. The size of the container determines the initial viewport. */
export const FlowGraph = memo(function FlowGraph(props: Props) {
  const { palette } = useTheme();
  const [container, setContainer] = useState<HTMLDivElement | null>(null);
  return (
    <div
      ref={setContainer}
      className="weir-graph"
      style={{ ...cssVariables(palette.mode, palette), height: `clamp(300px, ${Math.ceil(props.layout.height) + 62}px, max(400px, calc(100vh - 330px)))` }}
    >
      {container && <Flow {...props} container={container} />}
    </div>
  );
});

/**
 * Adds nodes and edges over several frames, because adding 200 operators in one frame would freeze the page. The node objects do not change while
 * barriers move. Components that show barriers paint the barriers directly (wavefrontSource.ts).
 */
function Flow({ graph, layout, metrics, selected, onSelect, container }: Props & { container: HTMLDivElement }) {
  const { palette } = useTheme();
  const flow = useRef<ReactFlowInstance<ChainNodeType> | null>(null);
  const [size, setSize] = useState(() => sizeOf(container));
  const [initialViewport] = useState(() => fitViewport(layout, size));
  const [region, setRegion] = useState(() => visibleRegion(layout, initialViewport, size));
  const afterFirstFrame = useAfterFirstFrame();
  const updateRegion = useCallback(
    (viewport: Viewport, now: Size): void =>
      setRegion((before) => {
        const after = visibleRegion(layout, viewport, now);
        return isEqualRect(before, after) ? before : after;
      }),
    [layout],
  );
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const now = sizeOf(container);
      setSize(now);
      // If the container becomes larger, more of the graph is visible, so the viewport need not change.
      updateRegion(flow.current?.getViewport() ?? initialViewport, now);
    });
    observer.observe(container);
    return () => observer.disconnect();
  }, [container, updateRegion, initialViewport]);
  // The chain panel can make the graph narrower. Keep the zoom, and pan only if the selected chain would not be visible.
  const box = selected === null ? undefined : layout.chains.get(selected);
  useEffect(() => {
    if (!box) return;
    const frame = requestAnimationFrame(() => {
      const before = flow.current?.getViewport();
      const after = before && panIntoView(before, box, size);
      if (after && after !== before) void flow.current?.setViewport(after);
    });
    return () => cancelAnimationFrame(frame);
  }, [box, size]);
  const target = useMemo(() => (afterFirstFrame ? flowNodes(graph, layout, metrics, region) : []), [afterFirstFrame, graph, layout, metrics, region]);
  const shown = useIncrementalList(target, NODES_AT_ONCE, isEqualNode);
  const complete = afterFirstFrame && shown.length === target.length;
  const nodes = useMemo(() => (selected === null ? [...shown] : shown.map((node) => (node.data.chain.index === selected ? { ...node, selected: true } : node))), [shown, selected]);
  const onNodesChange = useCallback(
    (changes: NodeChange<ChainNodeType>[]): void => {
      const picked = changes.find((change) => change.type === 'select' && change.selected);
      if (picked && 'id' in picked) onSelect(Number(picked.id));
      else if (changes.some((change) => change.type === 'select' && Number(change.id) === selected)) onSelect(null);
    },
    [selected, onSelect],
  );
  const clearSelection = useCallback(() => onSelect(null), [onSelect]);
  return (
    <ReactFlow
      nodes={nodes}
      nodeTypes={NODE_TYPES}
      onNodesChange={onNodesChange}
      onInit={(instance) => {
        flow.current = instance;
      }}
      onPaneClick={clearSelection}
      onViewportChange={(viewport) => updateRegion(viewport, size)}
      defaultViewport={initialViewport}
      minZoom={ZOOM_MIN}
      maxZoom={ZOOM_MAX}
      nodesDraggable={false}
      nodesConnectable={false}
      deleteKeyCode={null}
      selectionKeyCode={null}
      multiSelectionKeyCode={null}
      // The wheel scrolls the page. With Ctrl or Cmd, the wheel zooms the graph.
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
      colorMode={palette.mode}
      ariaLabelConfig={LABELS}
    >
      {complete && <Channels graph={graph} layout={layout} metrics={metrics} region={region} />}
      <Controls showInteractive={false} position="bottom-left" orientation="horizontal" fitViewOptions={FIT} />
      {graph.chains.length >= MAP_FROM_CHAINS && complete && <MiniMap style={region ? SHOWN : HIDDEN} pannable zoomable bgColor={palette.background.paper} nodeColor={palette.text.secondary} maskColor={palette.action.selected} />}
    </ReactFlow>
  );
}

/** Return false in the first animation frame, in which no nodes are rendered. */
function useAfterFirstFrame(): boolean {
  const [afterFirstFrame, setAfterFirstFrame] = useState(false);
  useEffect(() => {
    const frame = requestAnimationFrame(() => setAfterFirstFrame(true));
    return () => cancelAnimationFrame(frame);
  }, []);
  return afterFirstFrame;
}

const sizeOf = ({ clientWidth: width, clientHeight: height }: HTMLElement): Size => ({ width, height });
