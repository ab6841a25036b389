import { CreateButton, DataTable, useCanAccess } from 'react-admin';

import type { Schemas } from '../../api/types';
import { Ago } from '../../shared/Ago';
import { ChoiceFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';

type Webhook = Schemas['WebhookShown'];

export default function Webhooks() {
  const { canAccess: may } = useCanAccess({ resource: 'webhooks', action: 'create' });
  return (
    <ResourceList
      resource="webhooks"
      title="Webhooks"
      sort={{ field: 'name', order: 'ASC' }}
      actions={may && <CreateButton label="New webhook" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Part of a name" />
          <ChoiceFilter name="enabled" label="State" all="any" choices={[{ value: true, label: 'on' }, { value: false, label: 'off' }]} />
        </>
      }
      empty={<Empty title="No webhooks">Messages about alerts go to webhooks. {may ? 'Make one, send it a test, and name it in a rule.' : 'Administrators make them.'}</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={(id) => `/webhooks/${id}`} size="small">
        <DataTable.Col source="name" render={({ id, name }: Webhook) => <RowLink to={`/webhooks/${id}`}>{name}</RowLink>} />
        <DataTable.Col source="receiver" disableSort sx={{ overflowWrap: 'anywhere' }} />
        <DataTable.Col label="Signed" disableSort render={({ secret_reference }: Webhook) => (secret_reference === null ? 'no' : <code>{secret_reference}</code>)} />
        <DataTable.Col label="State" disableSort render={({ enabled }: Webhook) => <State of="switched" is={enabled ? 'on' : 'off'} />} />
        <DataTable.Col source="created_at" label="Made" render={({ created_at }: Webhook) => <Ago at={created_at} />} />
      </DataTable>
    </ResourceList>
  );
}
