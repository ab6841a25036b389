import { DataTable } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { duration, NO_VALUE, toMs } from '../../../format';
import { RelativeTime } from '../../../shared/Time';
import { ListPanel } from '../../../shared/ListPanel';
import { EmptyState } from '../../../shared/DataStates';
import { StateChip } from '../../../shared/StateChip';
import { useNow } from '../../../shared/useNow';
import { useJob } from '../useJob';

type Run = Schemas['RunRead'];

const NARROW = { whiteSpace: 'nowrap' } as const;
/** To save space for the column Reason, time columns show the relative time below the time of day. */
const STACKED = { width: '1px' } as const;

export default function Runs() {
  const { id } = useJob();
  return (
    <ListPanel
      resource="runs"
      title="Runs"
      filter={{ job_id: id }}
      sort={{ field: 'id', order: 'DESC' }}
      empty={<EmptyState title="No runs yet">Each start of the job appears here as a run.</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.NumberCol source="number" label="Run" disableSort />
        <DataTable.Col source="state" disableSort render={(run: Run) => <StateChip kind="run" state={run.state} />} />
        <DataTable.Col source="cause" disableSort />
        <DataTable.Col source="reason" disableSort sx={{ overflowWrap: 'anywhere', maxWidth: 380 }} render={(run: Run) => reasonOf(run)} />
        <DataTable.NumberCol source="generation" label="Generations" disableSort />
        <DataTable.Col label="Started" disableSort sx={STACKED} render={(run: Run) => <RelativeTime at={run.created_at} clock />} />
        <DataTable.Col label="Duration" disableSort sx={NARROW} render={(run: Run) => <Duration run={run} />} />
        <DataTable.Col label="Driver" disableSort render={(run: Run) => <Driver run={run} />} />
        <DataTable.Col label="Last contact" disableSort sx={STACKED} render={(run: Run) => <RelativeTime at={run.last_contact_at} clock />} />
        <DataTable.Col label="Fenced" disableSort sx={STACKED} render={(run: Run) => <RelativeTime at={run.fenced_at} clock />} />
      </DataTable>
    </ListPanel>
  );
}

/** Return the reason why a run ended, or why a run cannot be reassigned from a lost host. */
function reasonOf({ reason, reassignment_problem, host }: Run): string {
  return reassignment_problem === null ? reason : `Host ${host} is unreachable. Cannot reassign the run: ${reassignment_problem}`;
}

function Driver({ run: { host, pid } }: { run: Run }) {
  if (host === null) return <>{NO_VALUE}</>;
  return <><span style={NARROW}>{host},</span> <span style={NARROW}>pid {pid}</span></>;
}

function Duration({ run }: { run: Run }) {
  const now = useNow();
  const began = toMs(run.running_at);
  return <>{duration(began === null ? null : Math.max(0, (toMs(run.ended_at) ?? now) - began))}</>;
}
