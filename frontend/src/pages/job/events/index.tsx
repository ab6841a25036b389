import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { DataTable, ListBase, ListContextProvider, useListContext } from 'react-admin';
import { useSearchParams } from 'react-router-dom';

import { useJobLive } from '../../../live/JobLiveProvider';
import { EVENTS_MAX, type JobEvent } from '../../../live/jobLive';
import { Ago } from '../../../shared/Ago';
import { ListContent } from '../../../shared/ListPanel';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { RunNumber } from '../RunNumber';
import { useJob } from '../useJob';
import { KindFilter } from './KindFilter';
import { withMore, withTold } from './merged';
import { sentence } from './sentence';

const PER_PAGE = 50;
/** Events, of those that the stream keeps. */
const AGAIN_AFTER = EVENTS_MAX / 2;

export default function Events() {
  const { id } = useJob();
  // In the address, so that it can be sent to somebody: `?kind=PlanFailed&kind=PlanApplied`.
  const [search, setSearch] = useSearchParams();
  const kinds = search.getAll('kind');
  return (
    <Panel title="Log" actions={<KindFilter chosen={kinds} onChoose={(chosen) => setSearch({ kind: [...chosen] }, { replace: true })} />} flush>
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
              <DataTable.Col source="at" label="When" sx={{ whiteSpace: 'nowrap' }} render={(event: JobEvent) => <Ago at={event.at} clock />} />
              <DataTable.Col source="kind" disableSort render={(event: JobEvent) => <code>{event.kind}</code>} />
              <DataTable.Col label="What" disableSort sx={{ overflowWrap: 'anywhere' }} render={(event: JobEvent) => sentence(event)} />
              <DataTable.Col label="Said by" disableSort sx={{ whiteSpace: 'nowrap' }} render={(event: JobEvent) => <SaidBy event={event} />} />
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
  const { data, page, sort, total, refetch } = list;
  const newestFirst = page === 1 && (sort.field === 'number' || sort.field === 'at') && sort.order === 'DESC';
  const last = told.at(-1)?.number ?? 0;
  const [asked, setAsked] = useState({ data, at: last });
  if (asked.data !== data) setAsked({ data, at: last });
  // The stream's memory is short: what it has forgotten, and the list was asked for before, would be missing in between.
  const forgets = newestFirst && asked.data === data && last - asked.at >= AGAIN_AFTER;
  useEffect(() => {
    if (forgets) void refetch();
  }, [forgets, refetch]);
  const shown = useMemo(() => (data && newestFirst ? withTold(data, told, kinds) : data), [data, told, kinds, newestFirst]);
  const more = (shown?.length ?? 0) - (data?.length ?? 0);
  return <ListContextProvider value={{ ...list, data: shown, total: withMore(total ?? 0, more) } as typeof list}>{children}</ListContextProvider>;
}
