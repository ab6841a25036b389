import { Alert, Box } from '@mui/material';
import { BooleanInput, useGetIdentity, useRecordContext } from 'react-admin';

import type { Schemas } from '../../api/types';
import { AbsoluteTime } from '../../shared/Time';
import { DescriptionList } from '../../shared/DescriptionList';
import { EditPage } from '../../shared/FormPage';
import { ListPanel } from '../../shared/ListPanel';
import { Panel } from '../../shared/Panel';
import { EmptyState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { TokenTable } from '../tokens/TokenTable';
import { loginMethods } from '.';
import { RoleInput, RollbackInput } from './RoleInputs';
import { ResetPassword } from './ResetPassword';

type User = Schemas['UserRead'];

export default function EditUser() {
  return (
    <EditPage<User>
      resource="users"
      noun="User"
      titleOf={({ name }) => name}
      titleAddon={({ disabled }) => <StateChip kind="account" state={disabled ? 'disabled' : 'active'} />}
      actions={(user) => <ResetPassword key={user.id} user={user} />}
      deleteWarning="Tokens of this user are revoked immediately, but audit entries of this user are kept. To reserve the name, disable the account instead."
      form={<Fields />}
    >
      {(user) => (
        <>
          <Panel title="Account">
            <DescriptionList items={[['Login methods', loginMethods(user)], ['Created', <AbsoluteTime key="created" at={user.created_at} />]]} />
          </Panel>
          <ListPanel
            resource="tokens"
            title="Tokens and sessions"
            filter={{ user_id: user.id, live: true }}
            sort={{ field: 'id', order: 'DESC' }}
            perPage={10}
            empty={<EmptyState title="No valid tokens">Users create their own tokens under Tokens.</EmptyState>}
          >
            <TokenTable />
          </ListPanel>
        </>
      )}
    </EditPage>
  );
}

function Fields() {
  return (
    <>
      <OwnAccountNotice />
      <RoleInput />
      <RollbackInput />
      <BooleanInput source="disabled" label="Disabled" helperText="A disabled user cannot log in, and the API rejects the user's tokens" />
    </>
  );
}

/** A warning for users who edit their own account. */
function OwnAccountNotice() {
  const { data } = useGetIdentity();
  const user = useRecordContext<User>();
  return user && data?.id === user.id ? <Box sx={{ mb: 1 }}><Alert severity="info" variant="outlined">This is your account. You cannot restore permissions that you remove from yourself.</Alert></Box> : null;
}
