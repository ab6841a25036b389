import { ViewportPortal } from '@xyflow/react';
import { memo, useCallback, useMemo, useRef } from 'react';

import { pluralize, perSecond } from '../../../../format';
import { useIncrementalList } from '../../../../shared/incrementalList';
import { edgeRate, type ChainMetrics } from './chainMetrics';
import { channelCount, partitioningLabel, type Edge, type PhysicalGraph } from '../../physicalGraph';
import { blockedChannels } from '../wavefront/blockingSubtask';
import type { Rect, GraphLayout } from './layout';
import type { Wavefront } from '../wavefront/wavefront';
import { intersects } from './nodes';
import { useWavefrontPainter } from '../wavefront/wavefrontSource';

const CHARACTERS_MAX = 25;
/** The number of edges that are rendered in one animation frame. */
const EDGES_AT_ONCE = 24;

interface DrawnEdge {
  edge: Edge;
  path: string;
  /** The position of the label. Null if the label would be too small to read or is outside the visible region. */
  label: Rect | null;
  rate: number | null;
  channels: number;
}

const isEqualEdge = (edge: DrawnEdge, otherEdge: DrawnEdge): boolean =>
  edge.edge === otherEdge.edge && edge.path === otherEdge.path && edge.label === otherEdge.label && (edge.label === null || edge.rate === otherEdge.rate);

interface Props {
  graph: PhysicalGraph;
  layout: GraphLayout;
  metrics: ReadonlyMap<number, ChainMetrics>;
  /** The part of the graph in which labels are drawn. Null if no labels are drawn. */
  region: Rect | null;
}

/** Draws all edges in one SVG below the nodes. The layout determines the positions of edges. xyflow only pans and zooms the SVG. */
export const Channels = memo(function Channels({ graph, layout, metrics, region }: Props) {
  const target = useMemo(
    () =>
      graph.edges.flatMap((edge): DrawnEdge[] => {
        const at = layout.edges.get(edge.index);
        if (!at) return [];
        const label = intersects(region, at.label) ? at.label : null;
        return [{ edge, path: at.path, label, rate: label && edgeRate(edge, metrics), channels: channelCount(edge, graph) }];
      }),
    [graph, layout, metrics, region],
  );
  const shown = useIncrementalList(target, EDGES_AT_ONCE, isEqualEdge);
  return (
    <ViewportPortal>
      <svg className="weir-channels" width={layout.width} height={layout.height} data-near={region !== null}>
        <defs>
          <marker id="weir-channel-tip" viewBox="0 0 8 8" refX={7} refY={4} markerWidth={8} markerHeight={8} markerUnits="userSpaceOnUse" orient="auto">
            <path className="weir-channel-tip" d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {shown.map((edge, place) => <Channel key={place} of={edge} />)}
      </svg>
    </ViewportPortal>
  );
});

/**
 * Draws one edge with its partitioning, its rate, and the number of its channels that a barrier blocks. The number of blocked channels is painted
 * outside React.
 */
const Channel = memo(function Channel({ of: { edge, path, label, rate, channels } }: { of: DrawnEdge }) {
  const group = useRef<SVGGElement>(null);
  const createPainter = useCallback(() => {
    const held = label && group.current!.getElementsByClassName('held')[0];
    let previous: string | null = null;
    return (wave: Wavefront | null): void => {
      const { blocked, inFlight } = wave ? blockedChannels(wave, edge) : { blocked: 0, inFlight: 0 };
      const text = blocked > 0 ? `${blocked} of ${channels} blocked` : inFlight > 0 ? `${pluralize(inFlight, 'barrier')} sent` : '';
      if (text === previous) return;
      if (previous === null || (text === '') !== (previous === '')) group.current!.dataset.blocked = String(text !== '');
      if (held) held.textContent = text;
      previous = text;
    };
  }, [edge, channels, label]);
  useWavefrontPainter(createPainter);
  const partitioning = partitioningLabel(edge);
  return (
    <g ref={group} className="weir-channel" data-feedback={edge.feedback}>
      <path d={path} />
      {label && (
        <g transform={`translate(${label.x} ${label.y})`}>
          <rect width={label.width} height={label.height} rx={4} />
          <text x={label.width / 2} y={12}>
            {partitioning.length > CHARACTERS_MAX ? `${partitioning.slice(0, CHARACTERS_MAX - 1)}…` : partitioning}
            <title>{edge.feedback ? `${partitioning}, feedback` : partitioning}</title>
          </text>
          <text className="flowing" x={label.width / 2} y={25}>{perSecond(rate)}</text>
          <text className="held" x={label.width / 2} y={25} />
        </g>
      )}
    </g>
  );
});
