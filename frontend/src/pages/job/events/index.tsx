import { useMemo, useState, type ReactNode } from 'react';
import { DataTable, ListBase, ListContextProvider, useListContext } from 'react-admin';

import { useJobLive } from '../../../live/JobLiveProvider';
import type { JobEvent } from '../../../live/jobLive';
import { Ago } from '../../../shared/Ago';
import { ListContent } from '../../../shared/ListPanel';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { RunNumber } from '../RunNumber';
import { useJob } from '../useJob';
import { KindFilter } from './KindFilter';
import { withTold } from './merged';
import { sentence } from './sentence';

const PER_PAGE = 50;

export default function Events() {
  const { id } = useJob();
  const [kinds, setKinds] = useState<readonly string[]>([]);
  return (
    <Panel title="Log" actions={<KindFilter chosen={kinds} onChoose={setKinds} />} flush>
      <ListBase
        // With other kinds it begins at its first page again.
        key={kinds.join()}
        resource="events"
        filter={{ job_id: id, ...(kinds.length > 0 ? { kind: [...kinds] } : {}) }}
        sort={{ field: 'number', order: 'DESC' }}
        perPage={PER_PAGE}
        disableSyncWithLocation
        storeKey={false}
        disableAuthentication
      >
        <Live kinds={kinds}>
          <ListContent
            empty={
              kinds.length > 0
                ? <Empty title="Nothing of these kinds has happened">What happens from now on is shown here by itself.</Empty>
                : <Empty title="Nothing has happened yet">What the driver and the control plane tell of this job is listed here.</Empty>
            }
          >
            <DataTable bulkActionButtons={false} rowClick={false} size="small">
              <DataTable.NumberCol source="number" label="No." />
              <DataTable.Col source="at" label="When" render={(event: JobEvent) => <Ago at={event.at} />} />
              <DataTable.Col source="kind" disableSort render={(event: JobEvent) => <code>{event.kind}</code>} />
              <DataTable.Col label="What" disableSort sx={{ overflowWrap: 'anywhere' }} render={(event: JobEvent) => sentence(event)} />
              <DataTable.Col label="Said by" disableSort render={(event: JobEvent) => <SaidBy event={event} />} />
            </DataTable>
          </ListContent>
        </Live>
      </ListBase>
    </Panel>
  );
}

function SaidBy({ event: { run_id, run_event } }: { event: JobEvent }) {
  return run_event === null || run_id === null ? <>control plane</> : <>run <RunNumber of={run_id} /></>;
}

/** The list around it, with what the stream has told since it was asked for on top: on its first page, the newest first. */
function Live({ kinds, children }: { kinds: readonly string[]; children: ReactNode }) {
  const list = useListContext<JobEvent>();
  const told = useJobLive((live) => live.events);
  const { data, page, sort, total } = list;
  const newestFirst = page === 1 && (sort.field === 'number' || sort.field === 'at') && sort.order === 'DESC';
  const shown = useMemo(() => (data && newestFirst ? withTold(data, told, kinds) : data), [data, told, kinds, newestFirst]);
  const more = (shown?.length ?? 0) - (data?.length ?? 0);
  return <ListContextProvider value={{ ...list, data: shown, total: (total ?? 0) + more } as typeof list}>{children}</ListContextProvider>;
}
