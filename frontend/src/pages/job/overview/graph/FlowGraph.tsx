import '@xyflow/react/dist/base.css';
import Fullscreen from '@mui/icons-material/Fullscreen';
import FullscreenExit from '@mui/icons-material/FullscreenExit';
import { useTheme } from '@mui/material';
import { ControlButton, Controls, MiniMap, Panel, ReactFlow, type NodeChange, type NodeTypes, type ReactFlowInstance, type Viewport } from '@xyflow/react';
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';

import './graph.css';
import { useIncrementalList } from '../../../../shared/incrementalList';
import { ChainNode } from './ChainNode';
import { Channels } from './Channels';
import type { ChainMetrics } from './chainMetrics';
import type { PhysicalGraph } from '../../physicalGraph';
import type { GraphLayout } from './layout';
import { cssVariables } from './graphTheme';
import { centreOn, FIT, panIntoView, isEqualNode, flowNodes, showsWholeGraph, visibleRegion, isEqualRect, fitViewport, ZOOM_MAX, ZOOM_MIN, type ChainNodeType, type Size } from './nodes';
import { OperatorSearch } from './OperatorSearch';
import { useFullscreen } from './useFullscreen';

const NODE_TYPES: NodeTypes = { chain: ChainNode };
const MAP_SIZE = { width: 150, height: 96 };
/** The search is next to the zoom controls, below the graph (`MARGIN` in nodes.ts). */
const SEARCH_PLACE = { marginLeft: 140, marginBottom: 6 };
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
  /** The element that the full-screen button shows in full screen: the graph and the chain panel. */
  area: HTMLElement | null;
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
function Flow({ graph, layout, metrics, selected, onSelect, area, container }: Props & { container: HTMLDivElement }) {
  const { palette } = useTheme();
  const flow = useRef<ReactFlowInstance<ChainNodeType> | null>(null);
  const [size, setSize] = useState(() => sizeOf(container));
  const [initialViewport] = useState(() => fitViewport(layout, size));
  const [region, setRegion] = useState(() => visibleRegion(layout, initialViewport, size));
  const [whole, setWhole] = useState(() => showsWholeGraph(layout, initialViewport, size));
  const [found, setFound] = useState<number | null>(null);
  const fullscreen = useFullscreen(area);
  const afterFirstFrame = useAfterFirstFrame();
  const updateRegion = useCallback(
    (viewport: Viewport, now: Size): void => {
      setTextZoom(container, viewport.zoom);
      setWhole(showsWholeGraph(layout, viewport, now));
      setRegion((before) => {
        const after = visibleRegion(layout, viewport, now);
        return isEqualRect(before, after) ? before : after;
      });
    },
    [layout, container],
  );
  useLayoutEffect(() => setTextZoom(container, initialViewport.zoom), [container, initialViewport]);
  const wasFullscreen = useRef(false);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const now = sizeOf(container);
      setSize(now);
      const isFullscreen = document.fullscreenElement === area && area !== null;
      if (isFullscreen !== wasFullscreen.current) {
        wasFullscreen.current = isFullscreen;
        void flow.current?.setViewport(fitViewport(layout, now));
      }
      // If the container becomes larger, more of the graph is visible, so the viewport need not change.
      updateRegion(flow.current?.getViewport() ?? initialViewport, now);
    });
    observer.observe(container);
    return () => observer.disconnect();
  }, [container, updateRegion, initialViewport, area, layout]);
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
  const nodes = useMemo(
    () =>
      shown.map((node) => {
        const { index } = node.data.chain;
        return index === selected || index === found ? { ...node, selected: index === selected, className: index === found ? 'weir-found' : '' } : node;
      }),
    [shown, selected, found],
  );
  const onNodesChange = useCallback(
    (changes: NodeChange<ChainNodeType>[]): void => {
      const picked = changes.find((change) => change.type === 'select' && change.selected);
      if (picked && 'id' in picked) onSelect(Number(picked.id));
      else if (changes.some((change) => change.type === 'select' && Number(change.id) === selected)) onSelect(null);
    },
    [selected, onSelect],
  );
  const clearSelection = useCallback(() => {
    onSelect(null);
    setFound(null);
  }, [onSelect]);
  const find = useCallback(
    (chain: number): void => {
      const target = layout.chains.get(chain);
      const before = flow.current?.getViewport();
      if (!target || !before) return;
      setFound(chain);
      void flow.current?.setViewport(centreOn(before, target, sizeOf(container)));
      // Screen readers then read the chain, and Enter opens its subtasks.
      container.querySelector<HTMLElement>(`.react-flow__node[data-id="${chain}"]`)?.focus({ preventScroll: true });
    },
    [layout, container],
  );
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
      <Panel position="bottom-left" style={SEARCH_PLACE}><OperatorSearch graph={graph} onFind={find} /></Panel>
      <Controls showInteractive={false} position="bottom-left" orientation="horizontal" fitViewOptions={FIT}>
        {fullscreen && (
          <ControlButton onClick={fullscreen.toggle} aria-label={fullscreen.active ? 'Exit full screen' : 'Full screen'} title={fullscreen.active ? 'Exit full screen' : 'Full screen'}>
            {fullscreen.active ? <FullscreenExit /> : <Fullscreen />}
          </ControlButton>
        )}
      </Controls>
      {complete && <MiniMap style={whole ? HIDDEN : MAP_SIZE} pannable zoomable bgColor={palette.background.paper} nodeColor={palette.text.secondary} maskColor={palette.action.selected} />}
    </ReactFlow>
  );
}

/** Set the zoom with which graph.css computes the sizes of names. A change of these sizes causes a new layout of all nodes, so the zoom is rounded. */
function setTextZoom(container: HTMLElement, zoom: number): void {
  const rounded = zoom.toFixed(2);
  if (container.style.getPropertyValue('--weir-zoom') !== rounded) container.style.setProperty('--weir-zoom', rounded);
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
