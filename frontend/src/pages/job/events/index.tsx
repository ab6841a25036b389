import { Box, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { DataTable } from 'react-admin';

import { useJobLive } from '../../../live/JobLiveProvider';
import type { JobEvent } from '../../../live/jobLive';
import { Ago } from '../../../shared/Ago';
import { ListPanel } from '../../../shared/ListPanel';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { useJob } from '../useJob';
import { sentence } from './sentence';

/** Of those that came while the page was open: the list below has them all. */
const SHOWN = 12;

export default function Events() {
  const { id } = useJob();
  return (
    <>
      <JustNow />
      <ListPanel
        resource="events"
        title="Log"
        filter={{ job_id: id }}
        sort={{ field: 'number', order: 'DESC' }}
        perPage={50}
        empty={<Empty title="Nothing has happened yet">What the driver and the control plane tell of this job is listed here.</Empty>}
      >
        <DataTable bulkActionButtons={false} rowClick={false} size="small">
          <DataTable.NumberCol source="number" label="No." />
          <DataTable.Col source="at" label="When" render={(event: JobEvent) => <Ago at={event.at} />} />
          <DataTable.Col source="kind" disableSort render={(event: JobEvent) => <code>{event.kind}</code>} />
          <DataTable.Col label="What" disableSort sx={{ overflowWrap: 'anywhere' }} render={(event: JobEvent) => sentence(event)} />
          <DataTable.Col label="Said by" disableSort render={(event: JobEvent) => saidBy(event)} />
        </DataTable>
      </ListPanel>
    </>
  );
}

function saidBy({ run_id, run_event }: JobEvent): string {
  return run_event === null ? 'control plane' : `run ${run_id}`;
}

function JustNow() {
  const events = useJobLive((live) => live.events);
  if (events.length === 0) return null;
  return (
    <Panel title="Since this page was opened" flush>
      <Table size="small">
        <TableHead><TableRow><TableCell>No.</TableCell><TableCell>When</TableCell><TableCell>Kind</TableCell><TableCell>What</TableCell></TableRow></TableHead>
        <TableBody>
          {events.slice(-SHOWN).reverse().map((event) => (
            <TableRow key={event.number}>
              <TableCell>{event.number}</TableCell>
              <TableCell><Ago at={event.at} /></TableCell>
              <TableCell><code>{event.kind}</code></TableCell>
              <TableCell><Box sx={{ overflowWrap: 'anywhere' }}>{sentence(event)}</Box></TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </Panel>
  );
}
