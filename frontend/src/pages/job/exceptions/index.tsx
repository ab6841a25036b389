import { DataTable } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { duration, NOTHING } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { ListPanel } from '../../../shared/ListPanel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { RunNumber } from '../RunNumber';
import { useJob } from '../useJob';

type Failure = Schemas['FailureBody'];

/** What recovery did, in words. */
const RECOVERIES: Record<string, string> = {
  full: 'all subtasks, from the last checkpoint',
  restart: 'another driver took over',
  none: 'none: the run ended',
};

export default function Exceptions() {
  const { id } = useJob();
  return (
    <ListPanel
      resource="failures"
      title="Exceptions"
      filter={{ job_id: id }}
      sort={{ field: 'id', order: 'DESC' }}
      empty={<Empty title="Nothing has gone wrong so far">Failures of this job are listed here, with their cause and what recovery did.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.Col source="at" label="When" disableSort sx={{ whiteSpace: 'nowrap' }} render={(one: Failure) => <Ago at={one.at} clock />} />
        <DataTable.Col source="kind" disableSort render={(one: Failure) => (one.kind ? <code>{one.kind}</code> : NOTHING)} />
        <DataTable.Col source="reason" disableSort sx={{ overflowWrap: 'anywhere', maxWidth: 520 }} />
        <DataTable.Col label="Run" disableSort render={(one: Failure) => <><RunNumber of={one.run_id} />, generation {one.generation}</>} />
        <DataTable.Col label="Recovery" disableSort render={(one: Failure) => <Recovery of={one} />} />
        <DataTable.Col align="right" source="downtime_ms" label="Downtime" render={(one: Failure) => duration(one.downtime_ms)} />
      </DataTable>
    </ListPanel>
  );
}

function Recovery({ of }: { of: Failure }) {
  if (of.recovery === null) return <State of="operation" is="RUNNING" label="under way" />;
  return of.recovery === 'none' ? <State of="operation" is="FAILED" label={RECOVERIES.none} /> : <>{RECOVERIES[of.recovery] ?? of.recovery}</>;
}
