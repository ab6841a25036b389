import { Link } from '@mui/material';
import { DataTable, ReferenceField, TextField } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';
import { duration, NO_VALUE, toMs } from '../../format';
import { RelativeTime } from '../../shared/Time';
import { ListPanel } from '../../shared/ListPanel';
import { EmptyState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { useNow } from '../../shared/useNow';

export type AlertRead = Schemas['AlertRead'];

/** Streams do not contain alerts, so the page refetches alerts as often as workers evaluate alert rules. */
const ALERTS_REFRESH_MS = 15_000;

interface Props {
  title: string;
  filter: Record<string, unknown>;
  empty: string;
  emptyHelp?: string;
  perPage?: number;
}

/** A list of alerts. */
export function AlertsPanel({ title, filter, empty, emptyHelp, perPage = 25 }: Props) {
  const resolved = filter.state === 'RESOLVED';
  return (
    <ListPanel
      resource="alerts"
      title={title}
      filter={filter}
      sort={{ field: resolved ? 'resolved_at' : 'since', order: 'DESC' }}
      perPage={perPage}
      refreshMs={ALERTS_REFRESH_MS}
      empty={<EmptyState title={empty}>{emptyHelp}</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.Col label="State" disableSort render={({ state }: AlertRead) => <StateChip kind="alert" state={state} />} />
        <DataTable.Col label="Job" disableSort>
          <ReferenceField source="job_id" reference="jobs" link={(job) => `/jobs/${job.id}`} emptyText={NO_VALUE}><TextField source="name" /></ReferenceField>
        </DataTable.Col>
        <DataTable.Col label="Rule" disableSort render={(alert: AlertRead) => <Rule alert={alert} />} />
        <DataTable.Col label="Message" disableSort sx={{ overflowWrap: 'anywhere' }} render={({ message }: AlertRead) => message} />
        <DataTable.Col source="since" label="Since" render={({ since }: AlertRead) => <RelativeTime at={since} />} />
        <DataTable.Col label="Duration" disableSort sx={{ whiteSpace: 'nowrap' }} render={(alert: AlertRead) => <Duration alert={alert} />} />
        {filter.state === 'FIRING' ? null : (
          <DataTable.Col label="Resolution" disableSort sx={{ overflowWrap: 'anywhere' }} render={({ resolution }: AlertRead) => resolution ?? NO_VALUE} />
        )}
      </DataTable>
    </ListPanel>
  );
}

function Rule({ alert: { rule_id, rule_name } }: { alert: AlertRead }) {
  if (rule_id === null) return <>{rule_name} (deleted)</>;
  return <Link component={RouterLink} to={`/alert-rules/${rule_id}`}>{rule_name}</Link>;
}

function Duration({ alert: { since, resolved_at } }: { alert: AlertRead }) {
  const now = useNow();
  const began = toMs(since);
  return <>{duration(began === null ? null : Math.max(0, (toMs(resolved_at) ?? now) - began))}</>;
}
