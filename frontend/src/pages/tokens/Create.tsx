import { Box, Button } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Form, maxLength, required, SaveButton, SelectInput, TextInput, useNotify, usePermissions } from 'react-admin';
import { Link } from 'react-router-dom';

import { answered, api } from '../../api/client';
import type { Permission, Schemas } from '../../api/types';
import { When } from '../../shared/Ago';
import { roleSaid } from '../../auth/roleSaid';
import { Facts } from '../../shared/Facts';
import { FIELDS } from '../../shared/FormPage';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { Secret } from '../../shared/Secret';
import { RoleInput, RollbackInput } from '../users/Role';
import { rolesWithin } from '../users/roles';

const DAYS = [7, 30, 90, 180, 365].map((days) => ({ id: days, name: `in ${days} days` }));
const DEFAULT_DAYS = 90;

/** Not by the data provider: react-admin would keep the answer, and with it the secret. It is in this component, and gone with it. */
export default function NewToken() {
  const [made, setMade] = useState<Schemas['CreatedToken'] | null>(null);
  if (made) return <Made token={made} onMore={() => setMade(null)} />;
  return <Page title="New token"><Panel><Wanted onMade={setMade} /></Panel></Page>;
}

function Wanted({ onMade }: { onMade: (token: Schemas['CreatedToken']) => void }) {
  const { permissions = [] } = usePermissions<Permission[]>();
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (body: Schemas['NewToken']) => answered(api.POST('/api/v1/tokens', { body })),
    gcTime: 0,
    onSuccess: (token) => {
      void queries.invalidateQueries({ queryKey: ['tokens'] });
      onMade(token);
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  return (
    <Form
      defaultValues={{ role: 'viewer', rollback: false, expires_in_days: DEFAULT_DAYS }}
      onSubmit={(filled: Record<string, unknown>) => mutate(filled as Schemas['NewToken'])}
    >
      <Box sx={{ ...FIELDS, display: 'flex', flexDirection: 'column' }}>
        <TextInput source="name" validate={[required(), maxLength(100)]} helperText="What it is for, so that somebody knows later: deployments from CI" autoComplete="off" />
        <RoleInput within={rolesWithin(permissions)} />
        {permissions.includes('rollback') && <RollbackInput />}
        <SelectInput source="expires_in_days" label="Expires" choices={DAYS} validate={required()} />
        <Box sx={{ display: 'flex', gap: 1, pt: 1.5 }}>
          <SaveButton label="Create" icon={<></>} disabled={isPending} />
          <Button component={Link} to="/tokens">Back to the list</Button>
        </Box>
      </Box>
    </Form>
  );
}

function Made({ token, onMore }: { token: Schemas['CreatedToken']; onMore: () => void }) {
  return (
    <Page title={`Token ${token.name}`} actions={<Button size="small" onClick={onMore}>Make another one</Button>}>
      <Panel>
        <Secret label="Token" value={token.token} />
        <Box sx={{ mt: 1, mb: 2 }}>
          <Facts of={[
            ['Sent as', <code key="how">Authorization: Bearer …</code>],
            ['For weir', <code key="cli">WEIR_TOKEN=… weir jobs</code>],
            ['May', roleSaid(token)],
            ['Expires', <When key="until" at={token.expires_at} />],
          ]}
          />
        </Box>
        <Button component={Link} to="/tokens" variant="outlined">I have it</Button>
      </Panel>
    </Page>
  );
}
