import { Box, Button } from '@mui/material';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { DataTable, ReferenceField, TextField, useDataProvider, useGetIdentity, useNotify, useRefresh } from 'react-admin';

import { roleSaid } from '../../auth/roleSaid';
import { Ago } from '../../shared/Ago';
import { State } from '../../shared/State';
import { Sure } from '../../shared/Sure';
import { useNow } from '../../shared/useNow';
import { isLive, stateOf, type Token } from './facts';

/** Tokens of the list around it. `whose`: with the name of the user. */
export function TokenTable({ whose = false }: { whose?: boolean }) {
  return (
    <DataTable bulkActionButtons={false} rowClick={false} size="small">
      <DataTable.Col source="name" sx={{ fontWeight: 600, overflowWrap: 'anywhere' }} />
      {whose && <DataTable.Col label="Whose" disableSort><ReferenceField source="user_id" reference="users" link="edit"><TextField source="name" /></ReferenceField></DataTable.Col>}
      <DataTable.Col label="For" disableSort render={({ kind }: Token) => (kind === 'api' ? 'a program' : 'a browser or terminal')} />
      <DataTable.Col label="Role" disableSort render={(token: Token) => roleSaid(token)} />
      <DataTable.Col label="State" disableSort render={(token: Token) => <Standing token={token} />} />
      <DataTable.Col source="expires_at" label="Expires" render={({ expires_at }: Token) => <Ago at={expires_at} />} />
      <DataTable.Col source="last_used_at" label="Last used" render={({ last_used_at }: Token) => (last_used_at === null ? 'never' : <Ago at={last_used_at} />)} />
      <DataTable.Col source="created_at" label="Made" render={({ created_at }: Token) => <Ago at={created_at} />} />
      <DataTable.Col align="right" label="" disableSort render={(token: Token) => <Revoke token={token} />} />
    </DataTable>
  );
}

function Standing({ token }: { token: Token }) {
  const { data } = useGetIdentity();
  return (
    <Box sx={{ display: 'flex', gap: 0.75, flexWrap: 'wrap' }}>
      <State of="token" is={stateOf(token, useNow())} />
      {data?.tokenId === token.id && <State of="run" is="RUNNING" label="this session" />}
    </Box>
  );
}

function Revoke({ token }: { token: Token }) {
  const [asking, setAsking] = useState(false);
  const provider = useDataProvider();
  const notify = useNotify();
  const refresh = useRefresh();
  const now = useNow();
  const { mutate, isPending } = useMutation({
    mutationFn: () => provider.delete<Token>('tokens', { id: token.id }),
    onSuccess: () => {
      notify(`${token.name} is revoked`, { type: 'info' });
      refresh();
    },
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => setAsking(false),
  });
  if (!isLive(stateOf(token, now))) return null;
  return (
    <>
      <Button size="small" color="error" onClick={() => setAsking(true)} aria-label={`Revoke ${token.name}`}>Revoke</Button>
      {asking && (
        <Sure
          title={`Revoke ${token.name}?`}
          what={token.kind === 'api' ? 'Programs that come with it are refused from now on. It cannot be taken back.' : 'Whoever is logged in by it has to log in again.'}
          does="Revoke"
          final
          busy={isPending}
          onConfirm={() => mutate()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
