import { Box, Button, Link as MuiLink } from '@mui/material';
import { useTheme } from '@mui/material/styles';
import { memo, useMemo, useState } from 'react';
import { Link } from 'react-router-dom';

import { useCan } from '../../../auth/permissions';
import { bytes } from '../../../format';
import { coloursOf } from '../../../theme/states';
import { RelativeTime } from '../../../shared/Time';
import { StateChip } from '../../../shared/StateChip';
import { useFocusHandoff } from '../../../shared/useFocusHandoff';
import { ActionButton } from '../../../shared/ActionButton';
import { disabledReason, REQUEST_PENDING } from '../actions';
import { collapse, type CollapsedRow, type Shown } from './collapse';
import { planOfRun, type Checkpoint, type Lineage, type RestoreOrigin, type Row } from './lineage';
import { usePropose, type Plan } from './useRecovery';

/** The value of `trigger` in an imported checkpoint. */
const IMPORTED = 'import';

/** Draws the lineage with the newest checkpoint at the top. Lines connect each branch with the checkpoint at which the branch starts. */
export const LineageTree = memo(function LineageTree({ lineage, plans }: { lineage: Lineage; plans: readonly Plan[] }) {
  const propose = usePropose();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => collapse(lineage, open), [lineage, open]);
  return (
    <Box sx={{ position: 'relative', minWidth: 680 }}>
      <Lines of={shown} />
      <Box component="ol" aria-label="Checkpoints and restores, newest first" sx={{ listStyle: 'none', m: 0, p: 0 }}>
        {shown.rows.map((row) => (
          <Box
            key={row.key}
            component="li"
            sx={{
              height: ROW_HEIGHT, pl: `${widthOf(lineage.lanes)}px`, pr: 2, display: 'grid', columnGap: 2, alignItems: 'center', alignContent: 'center',
              gridTemplateColumns: 'minmax(0, 1fr) 170px 80px 132px', color: row.current ? 'text.primary' : 'text.secondary',
              '&:hover': { backgroundColor: 'action.hover' }, '&:focus-visible': { outlineOffset: '-2px' },
            }}
          >
            {row.kind === 'checkpoint' ? (
              <CheckpointItem
                checkpoint={row.checkpoint}
                row={row}
                newest={lineage.newest}
                busy={propose.isPending}
                onRollBack={(checkpoint) => propose.mutate({ kind: 'rollback', checkpoint })}
              />
            ) : row.kind === 'collapsed' ? (
              <CollapsedItem row={row} onOpen={() => setOpen(new Set([...open, row.stretch]))} />
            ) : <RunItem row={row} plans={plans} />}
          </Box>
        ))}
      </Box>
    </Box>
  );
});

/** Return the id of the element that contains the text below a checkpoint. */
const reasonId = (number: number): string => `why-${number}`;

interface CheckpointItemProps {
  checkpoint: Checkpoint;
  row: Row & { kind: 'checkpoint' };
  newest: number | null;
  busy: boolean;
  onRollBack(checkpoint: number): void;
}

function CheckpointItem({ checkpoint, row, newest, busy, onRollBack }: CheckpointItemProps) {
  const may = useCan('operate');
  const reason = disabledReason(checkpoint.actions, 'roll_back');
  const { number } = checkpoint;
  const { palette } = useTheme();
  const retention = checkpoint.kept_because.length > 0 ? checkpoint.kept_because : ['Weir can delete this checkpoint, unless the job log contains a reason to keep it.'];
  // For operators, the text says why the rollback button is disabled. For viewers, who have no button, the text says why the checkpoint is retained.
  const text = (may ? reason : null) ?? [...retention, ...(row.deleted ? [missingText(row.deleted)] : [])].join(' ');
  return (
    <>
      <Box sx={{ minWidth: 0, display: 'flex', gap: 1, alignItems: 'center', whiteSpace: 'nowrap' }}>
        <Box component="span" sx={{ fontWeight: 600 }}>{checkpoint.is_savepoint ? 'Savepoint' : 'Checkpoint'} {number}</Box>
        {number === newest && <StateChip kind="checkpoint" state="COMPLETED" label="newest" />}
        {!row.current && <StateChip kind="plan" state="DISCARDED" label="abandoned" />}
        {checkpoint.trigger === IMPORTED && <StateChip kind="run" state="FINISHED" label="imported" />}
        {checkpoint.pinned && <StateChip kind="operation" state="RUNNING" label="pinned" />}
        {checkpoint.damage !== null && <StateChip kind="checkpoint" state="FAILED" label="damaged" />}
        {checkpoint.discarded_at !== null && <StateChip kind="operation" state="PENDING" label="files deleted" />}
      </Box>
      <Box sx={{ whiteSpace: 'nowrap' }}><RelativeTime at={checkpoint.completed_at} clock /></Box>
      <Box sx={{ textAlign: 'right', fontVariantNumeric: 'tabular-nums' }}>{bytes(checkpoint.state_bytes)}</Box>
      {/* The text below a checkpoint is long, so it has a separate row. */}
      <Box id={reasonId(number)} title={text} sx={{ gridArea: '2 / 1 / auto / span 3', color: may && reason ? coloursOf('checkpoint', 'FAILED', palette.mode).ink : 'text.secondary', fontSize: '0.8rem', overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' }}>
        {text}
      </Box>
      <Box sx={{ gridArea: '1 / 4 / span 2', textAlign: 'right' }}>
        {may && (
          <ActionButton
            label="Roll back…"
            ariaLabel={`Roll back to checkpoint ${number}…`}
            describedBy={reasonId(number)}
            variant="text"
            disabledReason={reason ?? (busy ? REQUEST_PENDING : null)}
            onClick={() => onRollBack(number)}
          />
        )}
      </Box>
    </>
  );
}

function CollapsedItem({ row: { count, newest, oldest, current }, onOpen }: { row: CollapsedRow; onOpen(): void }) {
  const ref = useFocusHandoff(() => document.getElementById(reasonId(newest))?.closest('li'));
  return (
    <>
      <Box>{current ? `${count} more, ${oldest} to ${newest}` : `${count} abandoned checkpoints (${oldest} to ${newest})`}</Box>
      <Box />
      <Box />
      <Box sx={{ textAlign: 'right' }}>
        <Button ref={ref} size="small" aria-label={`Show checkpoints ${oldest} to ${newest}`} onClick={onOpen}>Show</Button>
      </Box>
    </>
  );
}

const missingText = ([first, last]: readonly [number, number]): string => (first === last ? `The previous checkpoint, ${first}, was deleted.` : `The previous checkpoints, ${first}–${last}, were deleted.`);

function RunItem({ row, plans }: { row: Row & { kind: 'restore' | 'beginning' }; plans: readonly Plan[] }) {
  const { run } = row;
  if (row.kind === 'beginning') {
    return (
      <>
        <Box>{run.number === 1 ? 'Job started without state' : `Run ${run.number}: earlier history is not listed`}</Box>
        <Box><RelativeTime at={run.created_at} clock /></Box>
      </>
    );
  }
  const plan = planOfRun(run, row.began, plans);
  return (
    <>
      <Box sx={{ minWidth: 0 }}>
        <Box sx={{ whiteSpace: 'nowrap', overflow: 'hidden', textOverflow: 'ellipsis' }}>
          Run {run.number} <OriginText at={row.began} />
          {plan && <> by <MuiLink component={Link} underline="always" to={`/jobs/${run.job_id}/recovery/${plan.id}`}>plan {plan.id}</MuiLink> ({plan.kind})</>}
        </Box>
        {!row.ran && <Box sx={{ color: 'text.secondary', fontSize: '0.8rem' }}>{run.ended_at === null ? 'starting' : `failed to start: ${run.reason || 'no reason given'}`}</Box>}
      </Box>
      <Box><RelativeTime at={run.created_at} clock /></Box>
    </>
  );
}

function OriginText({ at }: { at: RestoreOrigin }) {
  switch (at.at) {
    case 'checkpoint':
      return <>restored checkpoint <strong>{at.number}</strong></>;
    case 'none':
      return <>started without state</>;
    case 'external':
      return <>restored a copy of {at.number === null ? 'a checkpoint' : <>checkpoint <strong>{at.number}</strong></>} from <code title={at.path}>{at.path}</code></>;
  }
}

/** Draws the branches. Screen readers skip the drawing, because the list has the same information. */
function Lines({ of: { rows, edges, lanes } }: { of: Shown }) {
  const { palette } = useTheme();
  const on = coloursOf('checkpoint', 'COMPLETED', palette.mode).ink;
  const off = coloursOf('plan', 'DISCARDED', palette.mode).ink;
  const bad = coloursOf('checkpoint', 'FAILED', palette.mode).ink;
  const ground = palette.background.paper;
  return (
    <svg aria-hidden width={widthOf(lanes)} height={rows.length * ROW_HEIGHT} style={{ position: 'absolute', left: 0, top: 0, pointerEvents: 'none' }}>
      {[...edges].sort((a, b) => Number(a.current) - Number(b.current)).map(({ from, to, current, broken }) => (
        <path
          key={`${from}-${to}`}
          d={edgePath({ row: from, lane: rows[from]!.lane }, { row: to, lane: rows[to]!.lane })}
          fill="none"
          stroke={current ? on : off}
          strokeWidth={current ? 2.5 : 1.75}
          strokeDasharray={broken ? '2 5' : undefined}
          strokeLinecap="round"
        />
      ))}
      {rows.map((row, at) => {
        const [x, y] = [xOf(row.lane), yOf(at)];
        const ink = row.kind === 'checkpoint' && row.checkpoint.damage !== null ? bad : row.current ? on : off;
        if (row.kind === 'collapsed') return [-8, 0, 8].map((dy) => <circle key={`${row.key}${dy}`} cx={x} cy={y + dy} r={2} fill={ink} />);
        if (row.kind !== 'checkpoint') return <circle key={row.key} cx={x} cy={y} r={4} fill={ground} stroke={ink} strokeWidth={2} />;
        const hollow = row.checkpoint.discarded_at !== null;
        const paint = { fill: hollow ? ground : ink, stroke: ink, strokeWidth: 2 };
        if (row.checkpoint.is_savepoint) return <rect key={row.key} x={x - 5} y={y - 5} width={10} height={10} rx={1.5} {...paint} />;
        return <circle key={row.key} cx={x} cy={y} r={5} {...paint} />;
      })}
    </svg>
  );
}

export const ROW_HEIGHT = 46;
const LANE_WIDTH = 20;
const MARGIN = 16;
/** The maximum number of lanes. More lanes would overlap the text, so all further branches share the last lane. */
const LANES_MAX = 8;

export const xOf = (lane: number): number => MARGIN + Math.min(lane, LANES_MAX - 1) * LANE_WIDTH;
const yOf = (row: number): number => (row + 0.5) * ROW_HEIGHT;
export const widthOf = (lanes: number): number => xOf(lanes - 1) + MARGIN;

/** Return an SVG path that first curves into the lane of the newer row and then continues straight up. */
export function edgePath(older: { row: number; lane: number }, newer: { row: number; lane: number }): string {
  const [x1, y1, x2, y2] = [xOf(older.lane), yOf(older.row), xOf(newer.lane), yOf(newer.row)];
  if (x1 === x2) return `M${x1} ${y1}V${y2}`;
  const curveEnd = y1 - ROW_HEIGHT;
  return `M${x1} ${y1}C${x1} ${y1 - 0.6 * ROW_HEIGHT} ${x2} ${y1 - 0.4 * ROW_HEIGHT} ${x2} ${curveEnd}V${y2}`;
}
