import { Link } from '@mui/material';
import { DataTable } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { duration, NO_VALUE } from '../../../format';
import { RelativeTime } from '../../../shared/Time';
import { ListPanel } from '../../../shared/ListPanel';
import { EmptyState } from '../../../shared/DataStates';
import { StateChip } from '../../../shared/StateChip';
import { RunNumber } from '../RunNumber';
import { useJob } from '../useJob';

type Failure = Schemas['FailureRead'];

/** How the job recovers from a failure, as text. */
const RECOVERIES: Record<string, string> = {
  full: 'all subtasks restart from the last checkpoint',
  regional: 'only the failed slot restarts from the last checkpoint',
  restart: 'a new driver starts from the last checkpoint',
  none: 'none, because the run ended',
};

export default function Exceptions() {
  const { id } = useJob();
  return (
    <ListPanel
      resource="failures"
      title="Exceptions"
      filter={{ job_id: id }}
      sort={{ field: 'id', order: 'DESC' }}
      empty={<EmptyState title="No exceptions">Failures of this job appear here, with their cause and recovery.</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.Col source="at" label="Time" disableSort sx={{ whiteSpace: 'nowrap' }} render={(one: Failure) => <RelativeTime at={one.at} clock />} />
        <DataTable.Col source="kind" disableSort render={(one: Failure) => (one.kind ? <code>{one.kind}</code> : NO_VALUE)} />
        <DataTable.Col source="reason" disableSort sx={{ overflowWrap: 'anywhere', maxWidth: 520 }} />
        <DataTable.Col label="Run" disableSort render={(one: Failure) => <><RunNumber of={one.run_id} />, generation {one.generation}</>} />
        <DataTable.Col label="Log" disableSort sx={{ whiteSpace: 'nowrap' }} render={(one: Failure) => <LogLink of={one} />} />
        <DataTable.Col label="Recovery" disableSort render={(one: Failure) => <Recovery of={one} />} />
        <DataTable.Col align="right" source="downtime_ms" label="Downtime" render={(one: Failure) => duration(one.downtime_ms)} />
      </DataTable>
    </ListPanel>
  );
}

function Recovery({ of }: { of: Failure }) {
  if (of.recovery === null) return <StateChip kind="operation" state="RUNNING" label="recovering" />;
  return of.recovery === 'none' ? <StateChip kind="operation" state="FAILED" label={RECOVERIES.none} /> : <>{RECOVERIES[of.recovery] ?? of.recovery}</>;
}

/** A link to the log of the run at the time of the failure. */
function LogLink({ of: { job_id, run_id, at } }: { of: Failure }) {
  return <Link component={RouterLink} to={`/jobs/${job_id}/logs?${String(new URLSearchParams({ run: String(run_id), at }))}`}>View log</Link>;
}
