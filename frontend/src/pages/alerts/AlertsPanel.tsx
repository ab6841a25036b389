import { Link } from '@mui/material';
import { DataTable, ReferenceField, TextField } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';
import { duration, NOTHING, toMs } from '../../format';
import { Ago } from '../../shared/Ago';
import { ListPanel } from '../../shared/ListPanel';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';
import { useNow } from '../../shared/useNow';

export type AlertShown = Schemas['AlertShown'];

/** Workers hold rules against jobs so often; streams do not tell of it. */
export const ALERTS_REFRESH_MS = 15_000;

interface Props {
  title: string;
  filter: Record<string, unknown>;
  empty: string;
  emptyWhy?: string;
  perPage?: number;
}

/** Alerts of a list of them: what, where, since when, and why it is over. */
export function AlertsPanel({ title, filter, empty, emptyWhy, perPage = 25 }: Props) {
  const over = filter.state === 'RESOLVED';
  return (
    <ListPanel
      resource="alerts"
      title={title}
      filter={filter}
      sort={{ field: over ? 'resolved_at' : 'since', order: 'DESC' }}
      perPage={perPage}
      refreshMs={ALERTS_REFRESH_MS}
      empty={<Empty title={empty}>{emptyWhy}</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.Col label="State" disableSort render={({ state }: AlertShown) => <State of="alert" is={state} />} />
        <DataTable.Col label="Job" disableSort>
          <ReferenceField source="job_id" reference="jobs" link={(job) => `/jobs/${job.id}`} emptyText={NOTHING}><TextField source="name" /></ReferenceField>
        </DataTable.Col>
        <DataTable.Col label="Rule" disableSort render={(alert: AlertShown) => <Rule alert={alert} />} />
        <DataTable.Col label="What" disableSort sx={{ overflowWrap: 'anywhere' }} render={({ message }: AlertShown) => message} />
        <DataTable.Col source="since" label="Since" render={({ since }: AlertShown) => <Ago at={since} />} />
        <DataTable.Col label="Lasted" disableSort sx={{ whiteSpace: 'nowrap' }} render={(alert: AlertShown) => <Lasted alert={alert} />} />
        {filter.state === 'FIRING' ? null : (
          <DataTable.Col label="Reason" disableSort sx={{ overflowWrap: 'anywhere' }} render={({ resolution }: AlertShown) => resolution ?? NOTHING} />
        )}
      </DataTable>
    </ListPanel>
  );
}

function Rule({ alert: { rule_id, rule_name } }: { alert: AlertShown }) {
  if (rule_id === null) return <>{rule_name} (deleted)</>;
  return <Link component={RouterLink} to={`/alert-rules/${rule_id}`}>{rule_name}</Link>;
}

function Lasted({ alert: { since, resolved_at } }: { alert: AlertShown }) {
  const now = useNow();
  const began = toMs(since);
  return <>{duration(began === null ? null : Math.max(0, (toMs(resolved_at) ?? now) - began))}</>;
}
