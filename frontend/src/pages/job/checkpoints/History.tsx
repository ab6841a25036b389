import { Box, LinearProgress } from '@mui/material';
import { useState } from 'react';
import { DataTable, useListContext, useRecordContext } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { bytes, duration } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { Ago } from '../../../shared/Ago';
import { GrowingRows } from '../../../shared/GrowingRows';
import { ListPanel } from '../../../shared/ListPanel';
import { RowToggle } from '../../../shared/rows';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';
import { Detail } from './Detail';
import { Filters } from './Filters';
import { HeldStill } from './HeldStill';

type Checkpoint = Schemas['CheckpointBody'];

export function History() {
  const { id } = useJob();
  const [upTo, setUpTo] = useState<number | null>(null);
  return (
    <ListPanel
      resource="checkpoints"
      title="History"
      actions={<><HeldStill upTo={upTo} onHold={setUpTo} /><Filters /></>}
      filter={{ job_id: id, ...(upTo === null ? {} : { before_id: upTo + 1 }) }}
      sort={{ field: 'number', order: 'DESC' }}
      perPage={10}
      empty={<None />}
    >
      <GrowingRows atOnce={3}>
        <DataTable bulkActionButtons={false} rowClick="expand" size="small" expand={EXPANDED} expandSingle sx={CLOSE}>
          <DataTable.Col align="right" source="number" label="No." render={(one: Checkpoint) => <RowToggle more="more about this checkpoint">{one.number}</RowToggle>} />
          <DataTable.Col source="state" disableSort render={(one: Checkpoint) => <Standing of={one} />} />
          <DataTable.Col source="trigger" disableSort />
          <DataTable.Col label="Acknowledged" disableSort render={(one: Checkpoint) => <Acknowledged of={one} />} />
          <DataTable.Col source="triggered_at" label="Triggered" render={(one: Checkpoint) => <Ago at={one.triggered_at} clock />} />
          <DataTable.Col align="right" source="end_to_end_ms" sortByOrder="DESC" label="Duration" render={(one: Checkpoint) => duration(one.end_to_end_ms)} />
          <DataTable.Col align="right" source="checkpointed_bytes" sortByOrder="DESC" label="Checkpointed" render={(one: Checkpoint) => bytes(one.checkpointed_bytes)} />
          <DataTable.Col align="right" source="state_bytes" sortByOrder="DESC" label="State size" render={(one: Checkpoint) => bytes(one.state_bytes)} />
          <DataTable.Col label="Remarks" disableSort sx={{ overflowWrap: 'anywhere', minWidth: 100 }} render={(one: Checkpoint) => <Remarks of={one} />} />
        </DataTable>
      </GrowingRows>
    </ListPanel>
  );
}

function None() {
  const { filterValues } = useListContext();
  if (Object.keys(filterValues as object).length > 0) return <Empty title="None of this kind">With fewer of the filters there may be some.</Empty>;
  return <Empty title="No checkpoints yet">The first one comes an interval after the job has begun to run.</Empty>;
}

function Expanded() {
  const one = useRecordContext<Checkpoint>();
  return one ? <Detail of={one} /> : null;
}

/** So many columns fit 1280 px only so. */
const CLOSE = { '& .MuiTableCell-sizeSmall': { px: 1 } };
const EXPANDED = <Expanded />;

function Standing({ of }: { of: Checkpoint }) {
  return <State of="checkpoint" is={of.state} />;
}

/** Grows as subtasks acknowledge, without being asked for. */
function Acknowledged({ of }: { of: Checkpoint }) {
  // It stays when the checkpoint is over, until what is stored of it has been asked for again.
  const told = useJobLive(({ progress }) => (progress?.checkpoint_id === of.id ? progress.acknowledged : 0));
  const acknowledged = Math.max(told, of.acknowledged);
  return (
    <Box sx={{ minWidth: 90 }}>
      {acknowledged} of {of.subtasks}
      {of.state === 'IN_PROGRESS' && (
        <LinearProgress variant="determinate" aria-label={`Checkpoint ${of.number}`} value={of.subtasks === 0 ? 0 : (100 * acknowledged) / of.subtasks} />
      )}
    </Box>
  );
}

/** Why it failed; or what it is for, and what became of its files. */
function Remarks({ of }: { of: Checkpoint }) {
  if (of.state === 'FAILED') return <>{of.failure}</>;
  if (of.state === 'IN_PROGRESS') return null;
  return (
    <Box sx={{ display: 'flex', gap: 0.75, flexWrap: 'wrap', alignItems: 'center' }}>
      {of.is_savepoint && <State of="run" is="FINISHED" label="savepoint" />}
      {of.pinned && <State of="operation" is={of.pin_in_force ? 'RUNNING' : 'PENDING'} label={of.pin_in_force ? 'pinned' : 'pin not yet in force'} />}
      {of.damage !== null && <State of="checkpoint" is="FAILED" label="damaged" />}
      {of.discarded_at !== null ? <>files gone</> : of.leaving_at !== null ? <>being deleted</> : of.damage === null && of.verified_at !== null ? <>whole <Ago at={of.verified_at} /></> : null}
    </Box>
  );
}
