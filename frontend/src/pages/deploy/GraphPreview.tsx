import { Box } from '@mui/material';
import { useTheme } from '@mui/material/styles';
import { useMemo } from 'react';

import { counted } from '../../format';
import { drawingOf, NODE_HEIGHT, NODE_WIDTH } from './graphLayout';

const NAME_MAX = 22;
/** It gets smaller where there is no room, as long as it can be read. */
const SMALLEST = 0.75;

/** The graph as it would run. It is small: where it moves is the Overview of the job. */
export function GraphPreview({ graph }: { graph: Record<string, unknown> }) {
  const { nodes, links, width, height } = useMemo(() => drawingOf(graph), [graph]);
  const { palette } = useTheme();
  const said = nodes.map(({ name, kind, parallelism }) => `${name} (${kind}${parallelism === null ? '' : `, ${counted(parallelism, 'subtask')}`})`).join(', ');
  return (
    <Box tabIndex={0} role="region" aria-label="Graph" sx={{ overflow: 'auto', maxHeight: 420 }}>
      <svg role="img" aria-label={`${counted(nodes.length, 'operator')}: ${said}`} viewBox={`0 0 ${width} ${height}`} style={{ display: 'block', width: `min(${width}px, 100%)`, minWidth: SMALLEST * width }}>
        {links.map(({ key, path, partitioning }) => (
          <path key={key} d={path} fill="none" stroke={palette.text.secondary} strokeWidth={1.5} strokeDasharray={partitioning === 'forward' ? undefined : '5 4'}><title>{partitioning}</title></path>
        ))}
        {nodes.map(({ uid, name, kind, parallelism, x, y }) => (
          <g key={uid} transform={`translate(${x} ${y})`}>
            <title>{name}</title>
            <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx={6} fill={palette.background.default} stroke={palette.divider} strokeWidth={1.5} />
            <text x={10} y={18} fontSize={12.5} fontWeight={600} fill={palette.text.primary}>{name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name}</text>
            <text x={10} y={34} fontSize={11} fill={palette.text.secondary}>{kind}{parallelism === null ? '' : ` × ${parallelism}`}</text>
          </g>
        ))}
      </svg>
      <Box sx={{ color: 'text.secondary', fontSize: '0.8rem', mt: 0.5 }}>Broken lines: records go to other subtasks. Unbroken: they stay in theirs.</Box>
    </Box>
  );
}
