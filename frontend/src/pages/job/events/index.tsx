import { FormControlLabel, Switch } from '@mui/material';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { DataTable, ListBase, ListContextProvider, useListContext } from 'react-admin';
import { useSearchParams } from 'react-router-dom';

import { useJobLive } from '../../../live/JobLiveProvider';
import { EVENTS_MAX, type JobEvent } from '../../../live/jobLive';
import { RelativeTime } from '../../../shared/Time';
import { ListContent } from '../../../shared/ListPanel';
import { Panel } from '../../../shared/Panel';
import { EmptyState } from '../../../shared/DataStates';
import { RunNumber } from '../RunNumber';
import { useJob } from '../useJob';
import { KindFilter } from './KindFilter';
import { liveTotal, mergeLiveEvents } from './mergeEvents';
import { eventText } from './eventText';

const PER_PAGE = 50;
/** The list is refetched after this number of new events. The page keeps twice this number of streamed events. */
const AGAIN_AFTER = EVENTS_MAX / 2;

export default function Events() {
  const { id } = useJob();
  // The filters are in the URL, so that users can share them: `?kind=PlanFailed&kind=PlanApplied` or `?routine=true`.
  const [search, setSearch] = useSearchParams();
  const kinds = search.getAll('kind');
  const routine = search.get('routine') === 'true';
  const setFilters = (chosen: readonly string[], withRoutine: boolean): void =>
    setSearch({ kind: [...chosen], ...(withRoutine ? { routine: 'true' } : {}) }, { replace: true });
  // If the user selects kinds of events, the log shows all events of these kinds.
  const hideRoutine = kinds.length === 0 && !routine;
  return (
    <Panel
      title="Log"
      actions={
        <>
          <FormControlLabel
            control={<Switch size="small" checked={!hideRoutine} disabled={kinds.length > 0} onChange={(_, shown) => setFilters(kinds, shown)} />}
            label="Show routine checkpoints"
          />
          <KindFilter chosen={kinds} onChoose={(chosen) => setFilters(chosen, routine)} />
        </>
      }
      flush
    >
      <ListBase
        // The key resets the list when the filter changes, so that a changed filter starts at the first page.
        key={`${kinds.join()} ${hideRoutine}`}
        resource="events"
        filter={{ job_id: id, ...(kinds.length > 0 ? { kind: [...kinds] } : {}), ...(hideRoutine ? { routine: false } : {}) }}
        sort={{ field: 'number', order: 'DESC' }}
        perPage={PER_PAGE}
        disableSyncWithLocation
        storeKey={false}
        disableAuthentication
      >
        <LiveList kinds={kinds} hideRoutine={hideRoutine}>
          <ListContent
            empty={
              kinds.length > 0
                ? <EmptyState title="No matching events">New events of the selected kinds appear here.</EmptyState>
                : <EmptyState title="No events yet">Events of the driver and the control plane appear here.</EmptyState>
            }
          >
            <DataTable bulkActionButtons={false} rowClick={false} size="small">
              <DataTable.NumberCol source="number" label="No." />
              <DataTable.Col source="at" label="Time" sx={{ whiteSpace: 'nowrap' }} render={(event: JobEvent) => <RelativeTime at={event.at} clock />} />
              <DataTable.Col source="kind" disableSort render={(event: JobEvent) => <code>{event.kind}</code>} />
              <DataTable.Col label="Message" disableSort sx={{ overflowWrap: 'anywhere' }} render={(event: JobEvent) => eventText(event)} />
              <DataTable.Col label="Source" disableSort sx={{ whiteSpace: 'nowrap' }} render={(event: JobEvent) => <Reporter event={event} />} />
            </DataTable>
          </ListContent>
        </LiveList>
      </ListBase>
    </Panel>
  );
}

function Reporter({ event: { run_id, run_event } }: { event: JobEvent }) {
  return run_event === null || run_id === null ? <>control plane</> : <>run <RunNumber of={run_id} /></>;
}

/** The list of events. If the newest events come first, streamed events are added at the top of the first page. */
function LiveList({ kinds, hideRoutine, children }: { kinds: readonly string[]; hideRoutine: boolean; children: ReactNode }) {
  const list = useListContext<JobEvent>();
  const streamed = useJobLive((live) => live.events);
  const { data, page, sort, total, refetch } = list;
  const newestFirst = page === 1 && (sort.field === 'number' || sort.field === 'at') && sort.order === 'DESC';
  const last = streamed.at(-1)?.number ?? 0;
  const [fetched, setFetched] = useState({ data, at: last });
  if (fetched.data !== data) setFetched({ data, at: last });
  // The page keeps only the newest streamed events. Without a refetch, events between the list and the oldest streamed event would be missing.
  const mustRefetch = newestFirst && fetched.data === data && last - fetched.at >= AGAIN_AFTER;
  useEffect(() => {
    if (mustRefetch) void refetch();
  }, [mustRefetch, refetch]);
  const shown = useMemo(() => (data && newestFirst ? mergeLiveEvents(data, streamed, kinds, hideRoutine) : data), [data, streamed, kinds, hideRoutine, newestFirst]);
  const more = (shown?.length ?? 0) - (data?.length ?? 0);
  return <ListContextProvider value={{ ...list, data: shown, total: liveTotal(total ?? 0, more) } as typeof list}>{children}</ListContextProvider>;
}
