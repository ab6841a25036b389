import { Box, Button } from '@mui/material';
import type { ReactElement, ReactNode } from 'react';
import { ListBase, useListContext, type SortPayload } from 'react-admin';

import { ListContent } from './ListPanel';
import { Page } from './Page';
import { Panel } from './Panel';
import { EmptyState } from './DataStates';

interface Props {
  resource: string;
  title: string;
  /** Content that is shown next to the title. */
  titleAddon?: ReactNode;
  /** Content that is shown above the list. */
  banner?: ReactNode;
  sort: SortPayload;
  perPage?: number;
  /** The initial filter, which the user can remove. */
  filterDefaults?: Record<string, unknown>;
  /** Filter fields above the rows. */
  filters?: ReactNode;
  actions?: ReactNode;
  refreshMs?: number;
  /** Content that is shown if the list is empty and not filtered. */
  empty: ReactElement;
  /** A DataTable. */
  children: ReactNode;
}

/** The page of a list. Sorting, page and filters are in the URL, so that users can share a link to the same rows. */
export function ResourceList({ resource, title, titleAddon, banner, sort, perPage = 25, filterDefaults = {}, filters, actions, refreshMs, empty, children }: Props) {
  return (
    <ListBase resource={resource} sort={sort} perPage={perPage} filterDefaultValues={filterDefaults} queryOptions={{ refetchInterval: refreshMs ?? false }}>
      <Page title={title} titleAddon={titleAddon} actions={actions}>
        {banner}
        <Panel flush>
          {filters && <Box role="search" aria-label={`Filter ${title.toLowerCase()}`} sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1.5, px: 2, pt: 1.75, pb: 1 }}>{filters}</Box>}
          <Rows empty={empty} filterDefaults={filterDefaults}>{children}</Rows>
        </Panel>
      </Page>
    </ListBase>
  );
}

function Rows({ empty, filterDefaults, children }: Pick<Props, 'empty' | 'children'> & { filterDefaults: Record<string, unknown> }) {
  const { filterValues, setFilters } = useListContext();
  const filtered = JSON.stringify(filterValues) !== JSON.stringify({}) && JSON.stringify(filterValues) !== JSON.stringify(filterDefaults);
  const emptyState = filtered
    ? <EmptyState title="No results match the filters"><Button size="small" onClick={() => setFilters({}, undefined, false)}>Clear filters</Button></EmptyState>
    : empty;
  return <ListContent empty={emptyState}>{children}</ListContent>;
}
