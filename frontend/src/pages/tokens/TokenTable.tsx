import { Box, Button } from '@mui/material';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { DataTable, ReferenceField, TextField, useDataProvider, useGetIdentity, useNotify, useRefresh } from 'react-admin';

import { formatRole } from '../../auth/permissions';
import { RelativeTime } from '../../shared/Time';
import { StateChip } from '../../shared/StateChip';
import { ConfirmDialog } from '../../shared/ConfirmDialog';
import { useNow } from '../../shared/useNow';
import { isValid, tokenState, type Token } from './tokenState';

/** The tokens of the surrounding list. If `showOwner` is true, a column shows the user of each token. */
export function TokenTable({ showOwner = false }: { showOwner?: boolean }) {
  return (
    <DataTable bulkActionButtons={false} rowClick={false} size="small">
      <DataTable.Col source="name" sx={{ fontWeight: 600, overflowWrap: 'anywhere' }} />
      {showOwner && <DataTable.Col label="User" disableSort><ReferenceField source="user_id" reference="users" link="edit"><TextField source="name" /></ReferenceField></DataTable.Col>}
      <DataTable.Col label="Kind" disableSort render={({ kind }: Token) => (kind === 'api' ? 'API token' : 'session')} />
      <DataTable.Col label="Role" disableSort render={(token: Token) => formatRole(token)} />
      <DataTable.Col label="State" disableSort render={(token: Token) => <TokenStateCell token={token} />} />
      <DataTable.Col source="expires_at" label="Expires" render={({ expires_at }: Token) => <RelativeTime at={expires_at} />} />
      <DataTable.Col source="last_used_at" label="Last used" render={({ last_used_at }: Token) => (last_used_at === null ? 'never' : <RelativeTime at={last_used_at} />)} />
      <DataTable.Col source="created_at" label="Created" render={({ created_at }: Token) => <RelativeTime at={created_at} />} />
      <DataTable.Col align="right" label="" disableSort render={(token: Token) => <Revoke token={token} />} />
    </DataTable>
  );
}

function TokenStateCell({ token }: { token: Token }) {
  const { data } = useGetIdentity();
  return (
    <Box sx={{ display: 'flex', gap: 0.75, flexWrap: 'wrap' }}>
      <StateChip kind="token" state={tokenState(token, useNow())} />
      {data?.tokenId === token.id && <StateChip kind="run" state="RUNNING" label="this session" />}
    </Box>
  );
}

function Revoke({ token }: { token: Token }) {
  const [confirming, setConfirming] = useState(false);
  const provider = useDataProvider();
  const notify = useNotify();
  const refresh = useRefresh();
  const now = useNow();
  const { mutate, isPending } = useMutation({
    mutationFn: () => provider.delete<Token>('tokens', { id: token.id }),
    onSuccess: () => {
      notify(`Token ${token.name} revoked`, { type: 'info' });
      refresh();
    },
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => setConfirming(false),
  });
  if (!isValid(tokenState(token, now))) return null;
  return (
    <>
      <Button size="small" color="error" onClick={() => setConfirming(true)} aria-label={`Revoke ${token.name}`}>Revoke</Button>
      {confirming && (
        <ConfirmDialog
          title={`Revoke token ${token.name}?`}
          description={token.kind === 'api' ? 'Programs that use this token lose access immediately. This cannot be undone.' : 'The user of this session must log in again.'}
          confirmLabel="Revoke token"
          destructive
          busy={isPending}
          onConfirm={() => mutate()}
          onClose={() => setConfirming(false)}
        />
      )}
    </>
  );
}
