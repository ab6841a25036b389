import '@xyflow/react/dist/base.css';
import './overview.css';

import { useTheme } from '@mui/material';
import { Controls, MiniMap, Position, ReactFlow, type EdgeTypes, type NodeChange, type NodeTypes, type ReactFlowInstance } from '@xyflow/react';
import { useEffect, useMemo, useState } from 'react';

import { counted } from '../../../format';
import { ChainNode, type ChainNodeType } from './ChainNode';
import { ChannelEdge, Tip, type ChannelEdgeType } from './ChannelEdge';
import { channelsOf, nameOf, type PhysicalGraph } from './graph';
import type { Placed } from './layout';
import { variablesOf } from './look';

const NODE_TYPES: NodeTypes = { chain: ChainNode };
const EDGE_TYPES: EdgeTypes = { channel: ChannelEdge };
/** A graph that is larger than this is easier to find one's way in with a map of it. */
const MAP_FROM_CHAINS = 24;
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
  /** Index of the chain that is looked at. */
  chosen: number | null;
  onChoose: (chain: number | null) => void;
}

/** The graph itself. Nodes and edges stay the same objects while barriers move: what moves draws itself (waveSource.ts). */
export function FlowGraph({ graph, placed, chosen, onChoose }: Props) {
  const { palette } = useTheme();
  const [flow, setFlow] = useState<ReactFlowInstance<ChainNodeType, ChannelEdgeType> | null>(null);
  // The side panel takes its room from the graph.
  const beside = chosen !== null;
  useEffect(() => {
    // How much room it has now is known to it with the frame after this one.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => void flow?.fitView(FIT));
    });
    return () => cancelAnimationFrame(frame);
  }, [flow, beside]);
  const nodes = useMemo(
    () =>
      graph.chains.flatMap((chain): ChainNodeType[] => {
        const box = placed.chains.get(chain.index);
        if (!box) return [];
        const { x, y, width, height } = box;
        return [
          {
            id: String(chain.index), type: 'chain', position: { x, y }, width, height, data: { chain }, selected: chain.index === chosen,
            ariaLabel: `${nameOf(chain)}, ${counted(chain.parallelism, 'subtask')}`,
            handles: [
              { type: 'target', position: Position.Left, x: 0, y: height / 2, width: 1, height: 1 },
              { type: 'source', position: Position.Right, x: width, y: height / 2, width: 1, height: 1 },
            ],
          },
        ];
      }),
    [graph, placed, chosen],
  );
  const edges = useMemo(
    () =>
      graph.edges.flatMap((edge): ChannelEdgeType[] => {
        const at = placed.edges.get(edge.index);
        if (!at) return [];
        return [
          {
            id: String(edge.index), type: 'channel', source: String(edge.source), target: String(edge.target), focusable: false, selectable: false,
            data: { edge, ...at, channels: channelsOf(edge, graph) },
          },
        ];
      }),
    [graph, placed],
  );
  const changed = (changes: NodeChange<ChainNodeType>[]): void => {
    const picked = changes.find((change) => change.type === 'select' && change.selected);
    if (picked && 'id' in picked) onChoose(Number(picked.id));
    else if (changes.some((change) => change.type === 'select' && Number(change.id) === chosen)) onChoose(null);
  };
  return (
    <div
      className="weir-graph"
      style={{ ...variablesOf(palette.mode, palette), height: `clamp(300px, ${Math.ceil(placed.height) + 62}px, max(400px, calc(100vh - 330px)))` }}
    >
      <Tip />
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={changed}
        onInit={setFlow}
        onPaneClick={() => onChoose(null)}
        fitView
        fitViewOptions={FIT}
        minZoom={0.08}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
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
        <Controls showInteractive={false} position="bottom-left" orientation="horizontal" fitViewOptions={FIT} />
        {graph.chains.length >= MAP_FROM_CHAINS && <MiniMap pannable zoomable bgColor={palette.background.paper} nodeColor={palette.text.secondary} maskColor={palette.action.selected} />}
      </ReactFlow>
    </div>
  );
}

/** Below it there is room for what the graph is made larger with. */
const FIT = { padding: { top: '12px', left: '12px', right: '12px', bottom: '50px' }, maxZoom: 1.1 } as const;
