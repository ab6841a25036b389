import { CreateButton, DataTable, ReferenceField, TextField } from 'react-admin';

import type { Schemas } from '../../api/types';
import { RelativeTime } from '../../shared/Time';
import { TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { EmptyState } from '../../shared/DataStates';

type Secret = Schemas['SecretRead'];

export default function Secrets() {
  return (
    <ResourceList
      resource="secrets"
      title="Secrets"
      sort={{ field: 'name', order: 'ASC' }}
      actions={<CreateButton label="New secret" variant="contained" size="small" />}
      filters={<TextFilter name="name" label="Name contains" />}
      empty={<EmptyState title="No secrets">Secrets are passwords and keys that jobs use. To create a secret, select New secret.</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick="edit" size="small">
        <DataTable.Col source="name" render={({ id, name }: Secret) => <RowLink to={`/secrets/${id}`}>{name}</RowLink>} />
        <DataTable.Col source="description" disableSort sx={{ overflowWrap: 'anywhere' }} />
        <DataTable.Col label="Parameter value" disableSort render={({ name }: Secret) => <code>secret:{name}</code>} />
        <DataTable.Col label="Value set" disableSort render={({ value_changed_at }: Secret) => <RelativeTime at={value_changed_at} />} />
        <DataTable.Col label="Last updated by" disableSort><ReferenceField source="updated_by" reference="users" link="edit" emptyText="a deleted user"><TextField source="name" /></ReferenceField></DataTable.Col>
        <DataTable.Col source="created_at" label="Created" render={({ created_at }: Secret) => <RelativeTime at={created_at} />} />
      </DataTable>
    </ResourceList>
  );
}
