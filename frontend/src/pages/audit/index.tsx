import { Box, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { DataTable, useRecordContext } from 'react-admin';

import type { Schemas } from '../../api/types';
import { NO_VALUE } from '../../format';
import { RelativeTime, AbsoluteTime } from '../../shared/Time';
import { DescriptionList } from '../../shared/DescriptionList';
import { SelectFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowToggle } from '../../shared/rows';
import { EmptyState } from '../../shared/DataStates';
import { differences, summarizeFields } from './differences';
import { ResourceLink } from './ResourceLink';
import { ACTIONS, RESOURCES } from './filterOptions';

type Entry = Schemas['AuditEntryRead'];

const choices = (words: readonly string[]) => words.map((word) => ({ value: word, label: word }));

export default function Audit() {
  return (
    <ResourceList
      resource="audit"
      title="Audit log"
      sort={{ field: 'id', order: 'DESC' }}
      perPage={50}
      filters={
        <>
          <TextFilter name="user_name" label="User" />
          <SelectFilter name="action" label="Action" allLabel="any" choices={choices(ACTIONS)} />
          <SelectFilter name="resource" label="Resource" allLabel="any" choices={choices(RESOURCES)} />
        </>
      }
      empty={<EmptyState title="No changes yet">Every change appears here with the user who made it and the previous values.</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick="expand" expand={<Detail />} expandSingle size="small">
        <DataTable.Col source="at" label="Time" sx={{ whiteSpace: 'nowrap' }} render={(entry: Entry) => <RowToggle more={rowLabel(entry)}><RelativeTime at={entry.at} clock /></RowToggle>} />
        <DataTable.Col label="User" disableSort render={({ user_name }: Entry) => (user_name === 'weir' ? 'Weir' : user_name)} />
        <DataTable.Col label="Action" disableSort source="action" />
        <DataTable.Col label="Resource" disableSort render={(entry: Entry) => <ResourceLink entry={entry} />} />
        <DataTable.Col label="Fields" disableSort sx={{ overflowWrap: 'anywhere', color: 'text.secondary' }} render={({ before, after }: Entry) => summarizeFields(differences(before, after)) || NO_VALUE} />
        <DataTable.Col label="Address" disableSort render={({ address }: Entry) => address ?? NO_VALUE} />
      </DataTable>
    </ResourceList>
  );
}

/** Return the accessible name of an entry, such as `update of job orders by olga`. */
function rowLabel({ action, resource_text, user_name }: Entry): string {
  return `${action} of ${resource_text} by ${user_name}`;
}

function Detail() {
  const entry = useRecordContext<Entry>();
  if (!entry) return null;
  const found = differences(entry.before, entry.after, entry.references);
  return (
    <Box sx={{ py: 1.5, display: 'flex', flexDirection: 'column', gap: 1.5 }}>
      {found.length > 0 && (
        <Table size="small" aria-label="Before and after" sx={{ maxWidth: 1000, '& td': { overflowWrap: 'anywhere', verticalAlign: 'top' } }}>
          <TableHead><TableRow><TableCell>Field</TableCell><TableCell>Before</TableCell><TableCell>After</TableCell></TableRow></TableHead>
          <TableBody>
            {found.map(({ path, before, after }) => (
              <TableRow key={path}>
                <TableCell><code>{path}</code></TableCell>
                <TableCell>{before === null ? NO_VALUE : <del>{before}</del>}</TableCell>
                <TableCell>{after === null ? NO_VALUE : <Box component="ins" sx={{ textDecoration: 'none', fontWeight: 600 }}>{after}</Box>}</TableCell>
              </TableRow>
            ))}
          </TableBody>
        </Table>
      )}
      <DescriptionList items={[
        ['Time', <AbsoluteTime key="at" at={entry.at} />],
        ['Request sent with', entry.token_text],
        ['Request', entry.request_id && <code key="request">{entry.request_id}</code>],
      ]}
      />
    </Box>
  );
}
