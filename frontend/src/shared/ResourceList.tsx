import { Box, Button } from '@mui/material';
import type { ReactElement, ReactNode } from 'react';
import { ListBase, useListContext, type SortPayload } from 'react-admin';

import { ListContent } from './ListPanel';
import { Page } from './Page';
import { Panel } from './Panel';
import { Empty } from './Standins';

interface Props {
  resource: string;
  title: string;
  /** Beside the title. */
  beside?: ReactNode;
  /** Above the panel, across the page. */
  above?: ReactNode;
  sort: SortPayload;
  perPage?: number;
  /** What it begins with; whoever looks may take it off. */
  filterDefaults?: Record<string, unknown>;
  /** Fields that call `useFilter`, above the rows. */
  filters?: ReactNode;
  actions?: ReactNode;
  refreshMs?: number;
  /** What stands for an empty list that nobody has left anything out of. */
  empty: ReactElement;
  /** A DataTable. */
  children: ReactNode;
}

/** The page of a list. Sorting, page and filters are in the address, so that it can be sent to somebody. */
export function ResourceList({ resource, title, beside, above, sort, perPage = 25, filterDefaults = {}, filters, actions, refreshMs, empty, children }: Props) {
  return (
    <ListBase resource={resource} sort={sort} perPage={perPage} filterDefaultValues={filterDefaults} queryOptions={{ refetchInterval: refreshMs ?? false }}>
      <Page title={title} beside={beside} actions={actions}>
        {above}
        <Panel flush>
          {filters && <Box role="search" aria-label={`Filter ${title.toLowerCase()}`} sx={{ display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: 1.5, px: 2, pt: 1.75, pb: 1 }}>{filters}</Box>}
          <Rows empty={empty} usual={filterDefaults}>{children}</Rows>
        </Panel>
      </Page>
    </ListBase>
  );
}

/** `usual`: the filter that nobody has chosen. */
function Rows({ empty, usual, children }: Pick<Props, 'empty' | 'children'> & { usual: Record<string, unknown> }) {
  const { filterValues, setFilters } = useListContext();
  const filtered = JSON.stringify(filterValues) !== JSON.stringify({}) && JSON.stringify(filterValues) !== JSON.stringify(usual);
  const nothing = filtered
    ? <Empty title="Nothing fits these filters"><Button size="small" onClick={() => setFilters({}, undefined, false)}>Clear the filters</Button></Empty>
    : empty;
  return <ListContent empty={nothing}>{children}</ListContent>;
}
