import { ViewportPortal } from '@xyflow/react';
import { memo, useCallback, useMemo, useRef } from 'react';

import { counted, perSecond } from '../../../format';
import { useGradual } from '../../../shared/useGradual';
import { rateOf, type ChainFigures } from './figures';
import { channelsOf, dealingOf, type Edge, type PhysicalGraph } from './graph';
import { heldOf } from './holder';
import type { Box, Placed } from './layout';
import type { Wave } from './wavefront';
import { overlap } from './nodes';
import { usePainted } from './waveSource';

const CHARACTERS_MAX = 25;
/** In each frame of the browser so many are drawn anew. */
const EDGES_AT_ONCE = 24;

interface Drawn {
  edge: Edge;
  path: string;
  /** Null: too small to be read. */
  label: Box | null;
  rate: number | null;
  channels: number;
}

const looksLike = (one: Drawn, other: Drawn): boolean =>
  one.edge === other.edge && one.path === other.path && one.label === other.label && (one.label === null || one.rate === other.rate);

interface Props {
  graph: PhysicalGraph;
  placed: Placed;
  figures: ReadonlyMap<number, ChainFigures>;
  /** The part of the graph in which labels are drawn. */
  near: Box | null;
}

/** What lies between the chains, below them, in one SVG: the layout knows where, so it is nothing of xyflow's but that it moves along. */
export const Channels = memo(function Channels({ graph, placed, figures, near }: Props) {
  const wanted = useMemo(
    () =>
      graph.edges.flatMap((edge): Drawn[] => {
        const at = placed.edges.get(edge.index);
        if (!at) return [];
        const label = overlap(near, at.label) ? at.label : null;
        return [{ edge, path: at.path, label, rate: label && rateOf(edge, figures), channels: channelsOf(edge, graph) }];
      }),
    [graph, placed, figures, near],
  );
  const shown = useGradual(wanted, EDGES_AT_ONCE, looksLike);
  return (
    <ViewportPortal>
      <svg className="weir-channels" width={placed.width} height={placed.height} data-near={near !== null}>
        <defs>
          <marker id="weir-channel-tip" viewBox="0 0 8 8" refX={7} refY={4} markerWidth={8} markerHeight={8} markerUnits="userSpaceOnUse" orient="auto">
            <path className="weir-channel-tip" d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {shown.map((one, place) => <Channel key={place} of={one} />)}
      </svg>
    </ViewportPortal>
  );
});

/** An edge: how records are dealt out, how many go over it, and, painted past React, over how many of its channels a barrier is held up just now. */
const Channel = memo(function Channel({ of: { edge, path, label, rate, channels } }: { of: Drawn }) {
  const group = useRef<SVGGElement>(null);
  const begin = useCallback(() => {
    const held = label && group.current!.getElementsByClassName('held')[0];
    let before: string | null = null;
    return (wave: Wave | null): void => {
      const { blocked, underWay } = wave ? heldOf(wave, edge) : { blocked: 0, underWay: 0 };
      const said = blocked > 0 ? `${blocked} of ${channels} blocked` : underWay > 0 ? `${counted(underWay, 'barrier')} sent` : '';
      if (said === before) return;
      if (before === null || (said === '') !== (before === '')) group.current!.dataset.blocked = String(said !== '');
      if (held) held.textContent = said;
      before = said;
    };
  }, [edge, channels, label]);
  usePainted(begin);
  const dealing = dealingOf(edge);
  return (
    <g ref={group} className="weir-channel" data-feedback={edge.feedback}>
      <path d={path} />
      {label && (
        <g transform={`translate(${label.x} ${label.y})`}>
          <rect width={label.width} height={label.height} rx={4} />
          <text x={label.width / 2} y={12}>
            {dealing.length > CHARACTERS_MAX ? `${dealing.slice(0, CHARACTERS_MAX - 1)}…` : dealing}
            <title>{edge.feedback ? `${dealing}, fed back` : dealing}</title>
          </text>
          <text className="flowing" x={label.width / 2} y={25}>{perSecond(rate)}</text>
          <text className="held" x={label.width / 2} y={25} />
        </g>
      )}
    </g>
  );
});
