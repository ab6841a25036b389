import { Box } from '@mui/material';
import { useTheme } from '@mui/material/styles';
import { useMemo } from 'react';

import { pluralize } from '../../format';
import { layoutGraph, NODE_HEIGHT, NODE_WIDTH } from './graphLayout';

const NAME_MAX = 22;
/** The smallest scale at which names are readable. */
const SMALLEST = 0.75;

/** A static drawing of a version's graph. */
export function GraphPreview({ graph }: { graph: Record<string, unknown> }) {
  const { nodes, links, width, height } = useMemo(() => layoutGraph(graph), [graph]);
  const { palette } = useTheme();
  const description = nodes.map(({ name, kind, parallelism }) => `${name} (${kind}${parallelism === null ? '' : `, ${pluralize(parallelism, 'subtask')}`})`).join(', ');
  return (
    <Box tabIndex={0} role="region" aria-label="Graph" sx={{ overflow: 'auto', maxHeight: 420 }}>
      <svg role="img" aria-label={`${pluralize(nodes.length, 'operator')}: ${description}`} viewBox={`0 0 ${width} ${height}`} style={{ display: 'block', width: `min(${width}px, 100%)`, minWidth: SMALLEST * width }}>
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
      <Box sx={{ color: 'text.secondary', fontSize: '0.8rem', mt: 0.5 }}>Dashed edges send records to other subtasks. Solid edges keep records in their subtask.</Box>
    </Box>
  );
}
