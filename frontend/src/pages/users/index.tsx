import { CreateButton, DataTable } from 'react-admin';

import type { Schemas } from '../../api/types';
import { RelativeTime } from '../../shared/Time';
import { SelectFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { EmptyState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { ROLES } from './roles';

type User = Schemas['UserRead'];

export default function Users() {
  return (
    <ResourceList
      resource="users"
      title="Users"
      sort={{ field: 'name', order: 'ASC' }}
      actions={<CreateButton label="New user" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Name contains" />
          <SelectFilter name="role" label="Role" allLabel="any" choices={ROLES.map(({ id, name }) => ({ value: id, label: name }))} />
          <SelectFilter name="disabled" label="Account" allLabel="any" choices={[{ value: false, label: 'active' }, { value: true, label: 'disabled' }]} />
        </>
      }
      empty={<EmptyState title="No users">To create an account, select New user.</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick="edit" size="small">
        <DataTable.Col source="name" render={({ id, name }: User) => <RowLink to={`/users/${id}`}>{name}</RowLink>} />
        <DataTable.Col source="role" />
        <DataTable.Col source="rollback" label="May roll back" disableSort render={({ rollback }: User) => (rollback ? 'yes' : 'no')} />
        <DataTable.Col label="Account" disableSort render={({ disabled }: User) => <StateChip kind="account" state={disabled ? 'disabled' : 'active'} />} />
        <DataTable.Col label="Login methods" disableSort render={(user: User) => loginMethods(user)} />
        <DataTable.Col source="created_at" label="Created" render={({ created_at }: User) => <RelativeTime at={created_at} />} />
      </DataTable>
    </ResourceList>
  );
}

export function loginMethods({ has_password, has_oidc }: Pick<User, 'has_password' | 'has_oidc'>): string {
  return [has_password && 'password', has_oidc && 'OpenID Connect'].filter(Boolean).join(', ') || 'tokens only';
}
