import { DataTable } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { duration, NOTHING, toMs } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { ListPanel } from '../../../shared/ListPanel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useNow } from '../../../shared/useNow';
import { useJob } from '../useJob';

type Run = Schemas['RunBody'];

const NARROW = { whiteSpace: 'nowrap' } as const;
/** No wider than it has to be: how long ago it was goes below the time of day, and leaves room for reasons. */
const STACKED = { width: '1px' } as const;

export default function Runs() {
  const { id } = useJob();
  return (
    <ListPanel
      resource="runs"
      title="Runs"
      filter={{ job_id: id }}
      sort={{ field: 'id', order: 'DESC' }}
      empty={<Empty title="It has not run yet">Each start of the job is a run with a number of its own; what comes from an older one is refused.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.NumberCol source="number" label="Run" disableSort />
        <DataTable.Col source="state" disableSort render={(run: Run) => <State of="run" is={run.state} />} />
        <DataTable.Col source="cause" disableSort />
        <DataTable.Col source="reason" disableSort sx={{ overflowWrap: 'anywhere', maxWidth: 380 }} render={(run: Run) => whyOf(run)} />
        <DataTable.NumberCol source="generation" label="Generations" disableSort />
        <DataTable.Col label="Begun" disableSort sx={STACKED} render={(run: Run) => <Ago at={run.created_at} clock />} />
        <DataTable.Col label="Lasted" disableSort sx={NARROW} render={(run: Run) => <Lasted run={run} />} />
        <DataTable.Col label="Driver" disableSort render={(run: Run) => <Driver run={run} />} />
        <DataTable.Col label="Last heard" disableSort sx={STACKED} render={(run: Run) => <Ago at={run.last_contact_at} clock />} />
        <DataTable.Col label="Fenced" disableSort sx={STACKED} render={(run: Run) => <Ago at={run.fenced_at} clock />} />
      </DataTable>
    </ListPanel>
  );
}

/** Why it is over, or is not gone on with elsewhere though nothing is heard of it. */
function whyOf({ reason, stranded, host }: Run): string {
  return stranded === null ? reason : `nothing is heard of ${host}, and no other machine goes on with it: ${stranded}`;
}

function Driver({ run: { host, pid } }: { run: Run }) {
  if (host === null) return <>{NOTHING}</>;
  return <><span style={NARROW}>{host},</span> <span style={NARROW}>pid {pid}</span></>;
}

function Lasted({ run }: { run: Run }) {
  const now = useNow();
  const began = toMs(run.running_at);
  return <>{duration(began === null ? null : Math.max(0, (toMs(run.ended_at) ?? now) - began))}</>;
}
