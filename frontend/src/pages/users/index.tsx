import { CreateButton, DataTable } from 'react-admin';

import type { Schemas } from '../../api/types';
import { Ago } from '../../shared/Ago';
import { ChoiceFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';
import { ROLES } from './roles';

type User = Schemas['UserView'];

export default function Users() {
  return (
    <ResourceList
      resource="users"
      title="Users"
      sort={{ field: 'name', order: 'ASC' }}
      actions={<CreateButton label="New user" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Part of a name" />
          <ChoiceFilter name="role" label="Role" all="any" choices={ROLES.map(({ id, name }) => ({ value: id, label: name }))} />
          <ChoiceFilter name="disabled" label="Account" all="any" choices={[{ value: false, label: 'active' }, { value: true, label: 'disabled' }]} />
        </>
      }
      empty={<Empty title="Nobody">Make the first account with “New user”.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick="edit" size="small">
        <DataTable.Col source="name" render={({ id, name }: User) => <RowLink to={`/users/${id}`}>{name}</RowLink>} />
        <DataTable.Col source="role" />
        <DataTable.Col source="rollback" label="May roll back" disableSort render={({ rollback }: User) => (rollback ? 'yes' : 'no')} />
        <DataTable.Col label="Account" disableSort render={({ disabled }: User) => <State of="account" is={disabled ? 'disabled' : 'active'} />} />
        <DataTable.Col label="Logs in by" disableSort render={(user: User) => logsInBy(user)} />
        <DataTable.Col source="created_at" label="Made" render={({ created_at }: User) => <Ago at={created_at} />} />
      </DataTable>
    </ResourceList>
  );
}

export function logsInBy({ has_password, has_oidc }: Pick<User, 'has_password' | 'has_oidc'>): string {
  return [has_password && 'password', has_oidc && 'OpenID Connect'].filter(Boolean).join(', ') || 'tokens only';
}
