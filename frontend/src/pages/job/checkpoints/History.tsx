import { Box, LinearProgress, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useState } from 'react';
import { DataTable, useListContext, useRecordContext } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { bytes, duration } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { RelativeTime } from '../../../shared/Time';
import { IncrementalRows } from '../../../shared/IncrementalRows';
import { ListPanel } from '../../../shared/ListPanel';
import { RowToggle } from '../../../shared/rows';
import { EmptyState } from '../../../shared/DataStates';
import { StateChip } from '../../../shared/StateChip';
import { useJob } from '../useJob';
import { CheckpointDetails } from './CheckpointDetails';
import { PausedNotice } from './PausedNotice';

type Checkpoint = Schemas['CheckpointRead'];

export function History() {
  const { id } = useJob();
  const [pausedAt, setPausedAt] = useState<number | null>(null);
  return (
    <ListPanel
      resource="checkpoints"
      title="History"
      actions={<><PausedNotice pausedAt={pausedAt} onPause={setPausedAt} /><HistoryFilters /></>}
      filter={{ job_id: id, ...(pausedAt === null ? {} : { before_id: pausedAt + 1 }) }}
      sort={{ field: 'number', order: 'DESC' }}
      perPage={10}
      empty={<NoCheckpoints />}
    >
      <IncrementalRows batchSize={3}>
        <DataTable bulkActionButtons={false} rowClick="expand" size="small" expand={EXPANDED} expandSingle sx={DENSE}>
          <DataTable.Col align="right" source="number" label="No." render={(one: Checkpoint) => <RowToggle more="checkpoint details">{one.number}</RowToggle>} />
          <DataTable.Col source="state" disableSort render={(one: Checkpoint) => <StateCell of={one} />} />
          <DataTable.Col source="trigger" disableSort />
          <DataTable.Col label="Acknowledged" disableSort render={(one: Checkpoint) => <Acknowledged of={one} />} />
          <DataTable.Col source="triggered_at" label="Triggered" render={(one: Checkpoint) => <RelativeTime at={one.triggered_at} clock />} />
          <DataTable.Col align="right" source="end_to_end_ms" sortByOrder="DESC" label="Duration" render={(one: Checkpoint) => duration(one.end_to_end_ms)} />
          <DataTable.Col align="right" source="checkpointed_bytes" sortByOrder="DESC" label="Checkpointed" render={(one: Checkpoint) => bytes(one.checkpointed_bytes)} />
          <DataTable.Col align="right" source="state_bytes" sortByOrder="DESC" label="State size" render={(one: Checkpoint) => bytes(one.state_bytes)} />
          <DataTable.Col label="Remarks" disableSort sx={{ overflowWrap: 'anywhere', minWidth: 100 }} render={(one: Checkpoint) => <Remarks of={one} />} />
        </DataTable>
      </IncrementalRows>
    </ListPanel>
  );
}

function NoCheckpoints() {
  const { filterValues } = useListContext();
  if (Object.keys(filterValues as object).length > 0) return <EmptyState title="No matching checkpoints">Remove a filter to show more checkpoints.</EmptyState>;
  return <EmptyState title="No checkpoints yet">The job takes its first checkpoint one checkpoint interval after its start.</EmptyState>;
}

function Expanded() {
  const one = useRecordContext<Checkpoint>();
  return one ? <CheckpointDetails of={one} /> : null;
}

/** The cell padding is narrow, so that all columns of the table fit into 1280 px. */
const DENSE = { '& .MuiTableCell-sizeSmall': { px: 1 } };
const EXPANDED = <Expanded />;

function StateCell({ of }: { of: Checkpoint }) {
  return <StateChip kind="checkpoint" state={of.state} />;
}

/** Shows the number of subtasks that have acknowledged. The stream updates the number of acknowledgements. */
function Acknowledged({ of }: { of: Checkpoint }) {
  // Use the progress from the stream until the checkpoint has ended and the list is refetched.
  const streamed = useJobLive(({ progress }) => (progress?.checkpoint_id === of.id ? progress.acknowledged : 0));
  const acknowledged = Math.max(streamed, of.acknowledged);
  return (
    <Box sx={{ minWidth: 90 }}>
      {acknowledged} of {of.subtasks}
      {of.state === 'IN_PROGRESS' && (
        <LinearProgress variant="determinate" aria-label={`Checkpoint ${of.number}`} value={of.subtasks === 0 ? 0 : (100 * acknowledged) / of.subtasks} />
      )}
    </Box>
  );
}

/** Shows why the checkpoint failed, or flags such as savepoint, pinned and verified. */
function Remarks({ of }: { of: Checkpoint }) {
  if (of.state === 'FAILED') return <>{of.failure}</>;
  if (of.state === 'IN_PROGRESS') return null;
  return (
    <Box sx={{ display: 'flex', gap: 0.75, flexWrap: 'wrap', alignItems: 'center' }}>
      {of.is_savepoint && <StateChip kind="run" state="FINISHED" label="savepoint" />}
      {of.pinned && <StateChip kind="operation" state={of.pin_in_force ? 'RUNNING' : 'PENDING'} label={of.pin_in_force ? 'pinned' : 'pin pending'} />}
      {of.damage !== null && <StateChip kind="checkpoint" state="FAILED" label="damaged" />}
      {of.discarded_at !== null ? <>files deleted</> : of.deleting_since !== null ? <>being deleted</> : of.damage === null && of.verified_at !== null ? <>verified <RelativeTime at={of.verified_at} /></> : null}
    </Box>
  );
}

/** The filters that are sent to the API. A checkpoint must match all active filters. */
const FILTERS = { Failed: { state: 'FAILED' }, Savepoints: { is_savepoint: true }, Pinned: { pinned: true } } as const;
type Name = keyof typeof FILTERS;
const NAMES = Object.keys(FILTERS) as Name[];

/** Buttons that filter the list by failed checkpoints, savepoints and pinned checkpoints. */
function HistoryFilters() {
  const { filterValues, setFilters } = useListContext();
  const chosen = NAMES.filter((name) => Object.keys(FILTERS[name]).every((field) => field in filterValues));
  return (
    <ToggleButtonGroup size="small" aria-label="Only" value={chosen} onChange={(_, names: Name[]) => setFilters(Object.assign({}, ...names.map((name) => FILTERS[name])) as object)}>
      {NAMES.map((name) => <ToggleButton key={name} value={name} sx={{ py: 0.25, textTransform: 'none' }}>{name}</ToggleButton>)}
    </ToggleButtonGroup>
  );
}
