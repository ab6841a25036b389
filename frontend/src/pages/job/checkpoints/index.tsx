// Unfinished: summary percentiles, timeline, trend charts, expanding rows and the verbs come next (issue 5).
import { DataTable } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { bytes, duration } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { ListPanel } from '../../../shared/ListPanel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useJobLive } from '../../../live/JobLiveProvider';
import { inProgress } from '../../../live/jobLive';
import { useJob } from '../useJob';

type Checkpoint = Schemas['CheckpointBody'];

export default function Checkpoints() {
  const { id } = useJob();
  return (
    <ListPanel
      resource="checkpoints"
      title="History"
      filter={{ job_id: id }}
      sort={{ field: 'number', order: 'DESC' }}
      empty={<Empty title="No checkpoints yet">The first one comes an interval after the job has begun to run.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.NumberCol source="number" label="No." />
        <DataTable.Col source="state" disableSort render={(one: Checkpoint) => <State of="checkpoint" is={one.state} />} />
        <DataTable.Col source="trigger" disableSort />
        <DataTable.Col label="Acknowledged" disableSort render={(one: Checkpoint) => <Acknowledged of={one} />} />
        <DataTable.Col source="triggered_at" label="Triggered" disableSort render={(one: Checkpoint) => <Ago at={one.triggered_at} />} />
        <DataTable.Col align="right" source="end_to_end_ms" label="Duration" render={(one: Checkpoint) => duration(one.end_to_end_ms)} />
        <DataTable.Col align="right" source="state_bytes" label="State size" render={(one: Checkpoint) => bytes(one.state_bytes)} />
        <DataTable.Col source="failure" disableSort sx={{ overflowWrap: 'anywhere' }} />
      </DataTable>
    </ListPanel>
  );
}

function Acknowledged({ of }: { of: Checkpoint }) {
  const live = useJobLive(inProgress);
  const acknowledged = live?.checkpoint_id === of.id ? live.acknowledged : of.acknowledged;
  return <>{acknowledged} of {of.subtasks}</>;
}
