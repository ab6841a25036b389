import { CreateButton, DataTable, useCanAccess } from 'react-admin';

import type { Schemas } from '../../api/types';
import { RelativeTime } from '../../shared/Time';
import { SelectFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { EmptyState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { eventNames, formatName } from './formats';

type Webhook = Schemas['WebhookRead'];

export default function Webhooks() {
  const { canAccess: canCreate } = useCanAccess({ resource: 'webhooks', action: 'create' });
  return (
    <ResourceList
      resource="webhooks"
      title="Webhooks"
      sort={{ field: 'name', order: 'ASC' }}
      actions={canCreate && <CreateButton label="New webhook" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Name contains" />
          <SelectFilter name="enabled" label="State" allLabel="any" choices={[{ value: true, label: 'on' }, { value: false, label: 'off' }]} />
        </>
      }
      empty={<EmptyState title="No webhooks">Webhooks receive messages about alerts, operations and plans. {canCreate ? 'Create a webhook. To receive alerts, select the webhook in an alert rule.' : 'Administrators can create webhooks.'}</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick={(id) => `/webhooks/${id}`} size="small">
        <DataTable.Col source="name" render={({ id, name }: Webhook) => <RowLink to={`/webhooks/${id}`}>{name}</RowLink>} />
        <DataTable.Col source="receiver" disableSort sx={{ overflowWrap: 'anywhere' }} />
        <DataTable.Col label="Format" disableSort render={({ format }: Webhook) => formatName(format)} />
        <DataTable.Col label="Events" disableSort render={({ events }: Webhook) => eventNames(events)} />
        <DataTable.Col label="Key" disableSort render={({ secret_reference }: Webhook) => (secret_reference === null ? 'none' : <code>{secret_reference}</code>)} />
        <DataTable.Col label="State" disableSort render={({ enabled }: Webhook) => <StateChip kind="switched" state={enabled ? 'on' : 'off'} />} />
        <DataTable.Col source="created_at" label="Created" render={({ created_at }: Webhook) => <RelativeTime at={created_at} />} />
      </DataTable>
    </ResourceList>
  );
}
