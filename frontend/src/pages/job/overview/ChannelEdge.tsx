import type { Edge as FlowEdge, EdgeProps } from '@xyflow/react';
import { memo, use } from 'react';

import { perSecond } from '../../../format';
import { rateOf } from './figures';
import { FiguresContext } from './FiguresContext';
import { dealingOf, type Edge } from './graph';
import { blockedOf } from './holder';
import type { Box } from './layout';
import { useWave } from './waveSource';

export type ChannelEdgeType = FlowEdge<{ edge: Edge; path: string; label: Box | null; channels: number }, 'channel'>;
export const TIP = 'weir-channel-tip';
const CHARACTERS_MAX = 25;

/** An edge: how records are dealt out, how many go over it, and how many of its channels a barrier blocks just now. */
export const ChannelEdge = memo(function ChannelEdge({ data }: EdgeProps<ChannelEdgeType>) {
  const { edge, path, label, channels } = data!;
  const rate = rateOf(edge, use(FiguresContext));
  const blocked = useWave((wave) => (wave ? blockedOf(wave, edge) : 0));
  const dealing = dealingOf(edge);
  return (
    <>
      <path className="weir-channel" d={path} markerEnd={`url(#${TIP})`} data-blocked={blocked > 0} data-feedback={edge.feedback} />
      {label && (
        <g transform={`translate(${label.x} ${label.y})`}>
          <rect className="weir-channel-ground" width={label.width} height={label.height} rx={4} />
          <text className="weir-channel-text" x={label.width / 2} y={12}>
            {dealing.length > CHARACTERS_MAX ? `${dealing.slice(0, CHARACTERS_MAX - 1)}…` : dealing}
            <title>{edge.feedback ? `${dealing}, fed back` : dealing}</title>
          </text>
          <text className="weir-channel-text" x={label.width / 2} y={25} data-blocked={blocked > 0}>
            {blocked > 0 ? `${blocked} of ${channels} blocked` : perSecond(rate)}
          </text>
        </g>
      )}
    </>
  );
});

/** The tip of all edges, defined once. */
export function Tip() {
  return (
    <svg width={0} height={0} style={{ position: 'absolute' }} aria-hidden>
      <defs>
        <marker id={TIP} viewBox="0 0 8 8" refX={7} refY={4} markerWidth={8} markerHeight={8} markerUnits="userSpaceOnUse" orient="auto">
          <path className="weir-channel-tip" d="M0 0L8 4L0 8z" />
        </marker>
      </defs>
    </svg>
  );
}
