import { Alert, Box } from '@mui/material';
import { BooleanInput, useGetIdentity, useRecordContext } from 'react-admin';

import type { Schemas } from '../../api/types';
import { When } from '../../shared/Ago';
import { Facts } from '../../shared/Facts';
import { EditPage } from '../../shared/FormPage';
import { ListPanel } from '../../shared/ListPanel';
import { Panel } from '../../shared/Panel';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';
import { TokenTable } from '../tokens/TokenTable';
import { logsInBy } from '.';
import { RoleInput, RollbackInput } from './Role';
import { ResetPassword } from './ResetPassword';

type User = Schemas['UserView'];

export default function EditUser() {
  return (
    <EditPage<User>
      resource="users"
      what="User"
      titleOf={({ name }) => name}
      beside={({ disabled }) => <State of="account" is={disabled ? 'disabled' : 'active'} />}
      actions={(user) => <ResetPassword key={user.id} user={user} />}
      deleted="Tokens go with the account, at once. What was done with it stays in the audit. To keep the name from being taken again, disable the account instead."
      form={<Fields />}
    >
      {(user) => (
        <>
          <Panel title="Account">
            <Facts of={[['Logs in by', logsInBy(user)], ['Made', <When key="made" at={user.created_at} />]]} />
          </Panel>
          <ListPanel
            resource="tokens"
            title="Tokens and sessions"
            filter={{ user_id: user.id, live: true }}
            sort={{ field: 'id', order: 'DESC' }}
            perPage={10}
            empty={<Empty title="None is valid">Tokens are made by whoever needs them, under “Tokens”.</Empty>}
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
      <Myself />
      <RoleInput />
      <RollbackInput />
      <BooleanInput source="disabled" label="Disabled" helperText="Nobody can log in with it, and none of its tokens is taken any more" />
    </>
  );
}

/** Whoever takes his own role away cannot give it back. */
function Myself() {
  const { data } = useGetIdentity();
  const user = useRecordContext<User>();
  return user && data?.id === user.id ? <Box sx={{ mb: 1 }}><Alert severity="info" variant="outlined">This is you. What you take away here you cannot give back to yourself.</Alert></Box> : null;
}
