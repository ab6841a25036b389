import { Box, Button } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Form, required, SaveButton, SelectInput, TextInput, useNotify, usePermissions } from 'react-admin';
import { Link } from 'react-router-dom';

import { unwrap, api } from '../../api/client';
import type { Permission, Schemas } from '../../api/types';
import { fieldValidator } from '../../api/validation';
import { AbsoluteTime } from '../../shared/Time';
import { formatRole } from '../../auth/permissions';
import { DescriptionList } from '../../shared/DescriptionList';
import { FORM_STYLES } from '../../shared/FormPage';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { Secret } from '../../shared/Secret';
import { RoleInput, RollbackInput } from '../users/RoleInputs';
import { grantableRoles } from '../users/roles';

const NAME = [required(), fieldValidator('TokenCreate.name', 'Use printable characters')];
const DAYS = [7, 30, 90, 180, 365].map((days) => ({ id: days, name: `in ${days} days` }));
const DEFAULT_DAYS = 90;

/** Creates a token without the data provider, because react-admin would cache the response with the secret. Only this component stores the secret. */
export default function NewToken() {
  const [made, setMade] = useState<Schemas['TokenCreatedRead'] | null>(null);
  if (made) return <CreatedToken token={made} onMore={() => setMade(null)} />;
  return <Page title="New token"><Panel><TokenForm onMade={setMade} /></Panel></Page>;
}

function TokenForm({ onMade }: { onMade: (token: Schemas['TokenCreatedRead']) => void }) {
  const { permissions = [] } = usePermissions<Permission[]>();
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (body: Schemas['TokenCreate']) => unwrap(api.POST('/api/v1/tokens', { body })),
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
      onSubmit={(filled: Record<string, unknown>) => mutate(filled as Schemas['TokenCreate'])}
    >
      <Box sx={{ ...FORM_STYLES, display: 'flex', flexDirection: 'column' }}>
        <TextInput source="name" validate={NAME} helperText="The purpose of the token, for example: deployments from CI" autoComplete="off" />
        <RoleInput within={grantableRoles(permissions)} />
        {permissions.includes('rollback') && <RollbackInput />}
        <SelectInput source="expires_in_days" label="Expires" choices={DAYS} validate={required()} />
        <Box sx={{ display: 'flex', gap: 1, pt: 1.5 }}>
          <SaveButton label="Create" icon={<></>} disabled={isPending} />
          <Button component={Link} to="/tokens">Back to list</Button>
        </Box>
      </Box>
    </Form>
  );
}

function CreatedToken({ token, onMore }: { token: Schemas['TokenCreatedRead']; onMore: () => void }) {
  return (
    <Page title={`Token ${token.name}`} actions={<Button size="small" onClick={onMore}>Create another token</Button>}>
      <Panel>
        <Secret label="Token" value={token.token} />
        <Box sx={{ mt: 1, mb: 2 }}>
          <DescriptionList items={[
            ['HTTP header', <code key="how">Authorization: Bearer …</code>],
            ['CLI', <code key="cli">WEIR_TOKEN=… weir jobs</code>],
            ['Role', formatRole(token)],
            ['Expires', <AbsoluteTime key="until" at={token.expires_at} />],
          ]}
          />
        </Box>
        <Button component={Link} to="/tokens" variant="outlined">Done</Button>
      </Panel>
    </Page>
  );
}
