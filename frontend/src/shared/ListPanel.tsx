import { type ReactElement, type ReactNode } from 'react';
import { ListBase, Pagination, useListContext, type RaRecord, type SortPayload } from 'react-admin';

import { rangeOf } from '../data/contentRange';
import { Panel } from './Panel';
import { Failure, Waiting } from './Standins';

interface Props {
  resource: string;
  title?: string;
  /** Always applied: `{ job_id: 7 }`. */
  filter?: Record<string, unknown>;
  sort: SortPayload;
  perPage?: number;
  /** What stands for an empty list. */
  empty: ReactElement;
  actions?: ReactNode;
  /** Asked for again so often: for what no stream tells. */
  refreshMs?: number;
  /** A DataTable, usually. */
  children: ReactNode;
}

/** A list inside a page: pages, sorting, and what stands for nothing, waiting and failure. Its state is not in the address: pages have several. */
export function ListPanel({ resource, title, filter = {}, sort, perPage = 25, empty, actions, refreshMs, children }: Props) {
  return (
    <ListBase resource={resource} filter={filter} sort={sort} perPage={perPage} queryOptions={{ refetchInterval: refreshMs ?? false }} disableSyncWithLocation storeKey={false} disableAuthentication>
      <Panel {...(title ? { title } : {})} actions={actions} flush>
        <ListContent empty={empty}>{children}</ListContent>
      </Panel>
    </ListBase>
  );
}

/** What a list shows: its rows with their pages, or what stands for nothing, waiting and failure. */
export function ListContent({ empty, children }: { empty: ReactElement; children: ReactNode }) {
  const { data, error, isPending, refetch, total } = useListContext<RaRecord>();
  if (data === undefined) return error && !isPending ? <Failure error={error} onRetry={() => void refetch()} /> : <Waiting height={160} />;
  if (data.length === 0 && !total) return empty;
  return (
    <>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {children}
      <Pagination rowsPerPageOptions={[10, 25, 50, 100]} {...LABELS} />
    </>
  );
}

/** Handed on to the component of MUI behind it; react-admin's types do not name it. */
const LABELS = { labelDisplayedRows: rangeOf };
