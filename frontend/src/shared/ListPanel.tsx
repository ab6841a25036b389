import { type ReactElement, type ReactNode } from 'react';
import { ListBase, Pagination, useListContext, type RaRecord, type SortPayload } from 'react-admin';

import { formatRange } from '../data/contentRange';
import { Panel } from './Panel';
import { ErrorState, LoadingState } from './DataStates';

interface Props {
  resource: string;
  title?: string;
  /** A filter that is always applied, such as `{ job_id: 7 }`. */
  filter?: Record<string, unknown>;
  sort: SortPayload;
  perPage?: number;
  /** Content that is shown if the list is empty. */
  empty: ReactElement;
  actions?: ReactNode;
  /** The refetch interval, for data that no stream contains. */
  refreshMs?: number;
  /** Usually a DataTable. */
  children: ReactNode;
}

/** A list in a panel. The page number and the sorting are not in the URL, because several lists can share one URL. */
export function ListPanel({ resource, title, filter = {}, sort, perPage = 25, empty, actions, refreshMs, children }: Props) {
  return (
    <ListBase resource={resource} filter={filter} sort={sort} perPage={perPage} queryOptions={{ refetchInterval: refreshMs ?? false }} disableSyncWithLocation storeKey={false} disableAuthentication>
      <Panel {...(title ? { title } : {})} actions={actions} flush>
        <ListContent empty={empty}>{children}</ListContent>
      </Panel>
    </ListBase>
  );
}

/** The rows of a list with pagination, or its empty, loading or error state. */
export function ListContent({ empty, children }: { empty: ReactElement; children: ReactNode }) {
  const { data, error, isPending, refetch, total } = useListContext<RaRecord>();
  if (data === undefined) return error && !isPending ? <ErrorState error={error} onRetry={() => void refetch()} /> : <LoadingState height={160} />;
  if (data.length === 0 && !total) return empty;
  return (
    <>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {children}
      <Pagination rowsPerPageOptions={[10, 25, 50, 100]} {...LABELS} />
    </>
  );
}

/** Properties of MUI's pagination. React-admin passes these properties to MUI, but does not declare them in its types. */
const LABELS = { labelDisplayedRows: formatRange };
