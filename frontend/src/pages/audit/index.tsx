import { Box, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { DataTable, useRecordContext } from 'react-admin';

import type { Schemas } from '../../api/types';
import { NOTHING } from '../../format';
import { Ago, When } from '../../shared/Ago';
import { Facts } from '../../shared/Facts';
import { ChoiceFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowToggle } from '../../shared/rows';
import { Empty } from '../../shared/Standins';
import { differences, fieldsOf } from './differences';
import { nameOf, Thing } from './Thing';
import { ACTIONS, RESOURCES } from './words';

type Entry = Schemas['AuditEntryView'];

const choices = (words: readonly string[]) => words.map((word) => ({ value: word, label: word }));

export default function Audit() {
  return (
    <ResourceList
      resource="audit"
      title="Audit"
      sort={{ field: 'id', order: 'DESC' }}
      perPage={50}
      filters={
        <>
          <TextFilter name="user_name" label="Name of the user" />
          <ChoiceFilter name="action" label="Action" all="any" choices={choices(ACTIONS)} />
          <ChoiceFilter name="resource" label="Of what" all="anything" choices={choices(RESOURCES)} />
        </>
      }
      empty={<Empty title="Nothing was changed yet">Every change is listed here, with who made it and what was before.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick="expand" expand={<Detail />} expandSingle size="small">
        <DataTable.Col source="at" label="When" sx={{ whiteSpace: 'nowrap' }} render={(entry: Entry) => <RowToggle more={said(entry)}><Ago at={entry.at} clock /></RowToggle>} />
        <DataTable.Col label="Who" disableSort render={({ user_name }: Entry) => (user_name === 'weir' ? 'weir itself' : user_name)} />
        <DataTable.Col label="Action" disableSort source="action" />
        <DataTable.Col label="Of what" disableSort render={(entry: Entry) => <Thing entry={entry} />} />
        <DataTable.Col label="Fields" disableSort sx={{ overflowWrap: 'anywhere', color: 'text.secondary' }} render={({ before, after }: Entry) => fieldsOf(differences(before, after)) || NOTHING} />
        <DataTable.Col label="From" disableSort render={({ address }: Entry) => address ?? NOTHING} />
      </DataTable>
    </ResourceList>
  );
}

/** `update of job 7 by olga`. */
function said({ action, resource, resource_id, user_name }: Entry): string {
  return `${action} of ${nameOf(resource, resource_id)} by ${user_name}`;
}

function Detail() {
  const entry = useRecordContext<Entry>();
  if (!entry) return null;
  const found = differences(entry.before, entry.after);
  return (
    <Box sx={{ py: 1.5, display: 'flex', flexDirection: 'column', gap: 1.5 }}>
      {found.length > 0 && (
        <Table size="small" aria-label="Before and after" sx={{ maxWidth: 1000, '& td': { overflowWrap: 'anywhere', verticalAlign: 'top' } }}>
          <TableHead><TableRow><TableCell>Field</TableCell><TableCell>Before</TableCell><TableCell>After</TableCell></TableRow></TableHead>
          <TableBody>
            {found.map(({ path, before, after }) => (
              <TableRow key={path}>
                <TableCell><code>{path}</code></TableCell>
                <TableCell>{before === null ? NOTHING : <del>{before}</del>}</TableCell>
                <TableCell>{after === null ? NOTHING : <Box component="ins" sx={{ textDecoration: 'none', fontWeight: 600 }}>{after}</Box>}</TableCell>
              </TableRow>
            ))}
          </TableBody>
        </Table>
      )}
      <Facts of={[
        ['At', <When key="at" at={entry.at} />],
        ['By token', entry.token_id],
        ['Request', entry.request_id && <code key="request">{entry.request_id}</code>],
      ]}
      />
    </Box>
  );
}
