import { Box, Button, Link as MuiLink } from '@mui/material';
import { useTheme } from '@mui/material/styles';
import { memo, useMemo, useState } from 'react';
import { Link } from 'react-router-dom';

import { bytes } from '../../../format';
import { coloursOf } from '../../../look/states';
import { Ago } from '../../../shared/Ago';
import { State } from '../../../shared/State';
import { Verb } from '../../../shared/Verb';
import { useHandOver } from '../../../shared/useHandOver';
import { useNow } from '../../../shared/useNow';
import { useCan } from '../../../auth/useCan';
import { useJob } from '../useJob';
import { whyNotBackTo } from './allowed';
import { folded, type Folded, type Shown } from './folded';
import { edgePath, ROW_HEIGHT, widthOf, xOf, yOf } from './geometry';
import { reasonsOf } from './kept';
import type { Began, Checkpoint, Lineage, Row } from './lineage';
import { planOf } from './planOfRun';
import { usePropose, useRetained, type Plan } from './useRecovery';

const MINUTE_MS = 60_000;
/** The trigger of a checkpoint that was copied. */
const IMPORTED = 'import';

/** The newest on top; lines go down to where each was begun. */
export function Tree({ lineage, plans }: { lineage: Lineage; plans: readonly Plan[] }) {
  const retained = useRetained();
  // Reasons change with the hours, not with the seconds.
  const nowMs = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS;
  return <Drawn lineage={lineage} plans={plans} retained={retained} nowMs={nowMs} />;
}

const Drawn = memo(function Drawn({ lineage, plans, retained, nowMs }: { lineage: Lineage; plans: readonly Plan[]; retained: number | null; nowMs: number }) {
  const propose = usePropose();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const reasons = reasonsOf(lineage, { plans, retained, nowMs });
  const shown = useMemo(() => folded(lineage, open), [lineage, open]);
  return (
    <Box sx={{ position: 'relative', minWidth: 680 }}>
      <Lines of={shown} />
      <Box component="ol" aria-label="Checkpoints and restores, the newest first" sx={{ listStyle: 'none', m: 0, p: 0 }}>
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
              <OfCheckpoint
                checkpoint={row.checkpoint}
                row={row}
                kept={reasons.get(row.checkpoint.number) ?? []}
                newest={lineage.newest}
                busy={propose.isPending}
                onChoose={(checkpoint) => propose.mutate({ kind: 'rollback', checkpoint })}
              />
            ) : row.kind === 'folded' ? (
              <OfFolded row={row} onOpen={() => setOpen(new Set([...open, row.stretch]))} />
            ) : <OfRun row={row} plans={plans} />}
          </Box>
        ))}
      </Box>
    </Box>
  );
});

/** The id of what is said about a checkpoint. */
const saidOf = (number: number): string => `why-${number}`;

interface OfCheckpointProps {
  checkpoint: Checkpoint;
  row: Row & { kind: 'checkpoint' };
  kept: readonly string[];
  newest: number | null;
  busy: boolean;
  onChoose(checkpoint: number): void;
}

function OfCheckpoint({ checkpoint, row, kept, newest, busy, onChoose }: OfCheckpointProps) {
  const job = useJob();
  const may = useCan('operate');
  const obstacle = whyNotBackTo(checkpoint, job);
  const { number } = checkpoint;
  const { palette } = useTheme();
  const reasons = kept.length > 0 ? kept : ['nothing keeps it: it may go at any time'];
  const said = obstacle ?? [...reasons, ...(row.gone ? [`${goneWords(row.gone)} below it`] : [])].join(' · ');
  return (
    <>
      <Box sx={{ minWidth: 0, display: 'flex', gap: 1, alignItems: 'center', whiteSpace: 'nowrap' }}>
        <Box component="span" sx={{ fontWeight: 600 }}>{checkpoint.is_savepoint ? 'Savepoint' : 'Checkpoint'} {number}</Box>
        {number === newest && <State of="checkpoint" is="COMPLETED" label="newest" />}
        {!row.current && <State of="plan" is="WITHDRAWN" label="left behind" />}
        {checkpoint.trigger === IMPORTED && <State of="run" is="FINISHED" label="copied from elsewhere" />}
        {checkpoint.pinned && <State of="operation" is="RUNNING" label="pinned" />}
        {checkpoint.damage !== null && <State of="checkpoint" is="FAILED" label="damaged" />}
        {checkpoint.discarded_at !== null && <State of="operation" is="PENDING" label="gone" />}
      </Box>
      <Box sx={{ whiteSpace: 'nowrap' }}><Ago at={checkpoint.completed_at} clock /></Box>
      <Box sx={{ textAlign: 'right', fontVariantNumeric: 'tabular-nums' }}>{bytes(checkpoint.state_bytes)}</Box>
      {/* Below all of that: what matters in a reason is often at its end. */}
      <Box id={saidOf(number)} title={said} sx={{ gridArea: '2 / 1 / auto / span 3', color: obstacle ? coloursOf('checkpoint', 'FAILED', palette.mode).ink : 'text.secondary', fontSize: '0.8rem', overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' }}>
        {said}
      </Box>
      <Box sx={{ gridArea: '1 / 4 / span 2', textAlign: 'right' }}>
        {may && (
          <Verb
            label="Go back…"
            name={`Go back to checkpoint ${number}: see what would happen`}
            describedBy={saidOf(number)}
            variant="text"
            why={obstacle ?? (busy ? 'A plan is being proposed.' : null)}
            onClick={() => onChoose(number)}
          />
        )}
      </Box>
    </>
  );
}

function OfFolded({ row: { count, newest, oldest }, onOpen }: { row: Folded; onOpen(): void }) {
  const ref = useHandOver(() => document.getElementById(saidOf(newest))?.closest('li'));
  return (
    <>
      <Box>{count} more, {oldest} to {newest}</Box>
      <Box />
      <Box />
      <Box sx={{ textAlign: 'right' }}>
        <Button ref={ref} size="small" aria-label={`Show them: checkpoints ${oldest} to ${newest}`} onClick={onOpen}>Show them</Button>
      </Box>
    </>
  );
}

const goneWords = ([first, last]: readonly [number, number]): string => (first === last ? `${first} is not kept` : `${first}–${last} are not kept`);

function OfRun({ row, plans }: { row: Row & { kind: 'restore' | 'beginning' }; plans: readonly Plan[] }) {
  const { run } = row;
  if (row.kind === 'beginning') {
    return (
      <>
        <Box>{run.number === 1 ? 'The job began, without any state' : `Run ${run.number}: what was before is not listed any more`}</Box>
        <Box><Ago at={run.created_at} clock /></Box>
      </>
    );
  }
  const plan = planOf(run, row.began, plans);
  return (
    <>
      <Box sx={{ minWidth: 0 }}>
        <Box sx={{ whiteSpace: 'nowrap', overflow: 'hidden', textOverflow: 'ellipsis' }}>
          Run {run.number} <HowItBegan at={row.began} />
          {plan && <> by <MuiLink component={Link} underline="always" to={`/jobs/${run.job_id}/recovery/${plan.id}`}>plan {plan.id}</MuiLink> ({plan.kind})</>}
        </Box>
        {!row.ran && <Box sx={{ color: 'text.secondary', fontSize: '0.8rem' }}>{run.ended_at === null ? 'it is being started' : `it never came up: ${run.reason || 'no reason was told'}`}</Box>}
      </Box>
      <Box><Ago at={run.created_at} clock /></Box>
    </>
  );
}

function HowItBegan({ at }: { at: Began }) {
  switch (at.at) {
    case 'checkpoint':
      return <>went back to <strong>{at.number}</strong></>;
    case 'nothing':
      return <>began anew, without any state</>;
    case 'elsewhere':
      return <>went on from a copy of {at.number === null ? 'a checkpoint' : <>checkpoint <strong>{at.number}</strong></>} in <code title={at.path}>{at.path}</code></>;
  }
}

/** Drawn only: all that it says is in the list as well. */
function Lines({ of: { rows, edges, lanes } }: { of: Shown }) {
  const { palette } = useTheme();
  const on = coloursOf('checkpoint', 'COMPLETED', palette.mode).ink;
  const off = coloursOf('plan', 'WITHDRAWN', palette.mode).ink;
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
        if (row.kind === 'folded') return [-8, 0, 8].map((dy) => <circle key={`${row.key}${dy}`} cx={x} cy={y + dy} r={2} fill={ink} />);
        if (row.kind !== 'checkpoint') return <circle key={row.key} cx={x} cy={y} r={4} fill={ground} stroke={ink} strokeWidth={2} />;
        const hollow = row.checkpoint.discarded_at !== null;
        const paint = { fill: hollow ? ground : ink, stroke: ink, strokeWidth: 2 };
        if (row.checkpoint.is_savepoint) return <rect key={row.key} x={x - 5} y={y - 5} width={10} height={10} rx={1.5} {...paint} />;
        return <circle key={row.key} cx={x} cy={y} r={5} {...paint} />;
      })}
    </svg>
  );
}
