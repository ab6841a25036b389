import { ReferenceField, TextField } from 'react-admin';

import type { Schemas } from '../../api/types';
import { AbsoluteTime } from '../../shared/Time';
import { DescriptionList } from '../../shared/DescriptionList';
import { EditPage } from '../../shared/FormPage';
import { Panel } from '../../shared/Panel';
import { DescriptionInput, ValueInput } from './Fields';

type Secret = Schemas['SecretRead'];

export default function EditSecret() {
  return (
    <EditPage<Secret>
      resource="secrets"
      noun="Secret"
      titleOf={({ name }) => name}
      transform={withoutEmptyValue}
      deleteWarning="The value cannot be restored. A secret to which the current version of a job refers cannot be deleted."
      form={(
        <>
          <ValueInput label="New value" help="Replaces the value. Jobs use the new value when they start the next time. If this field is empty, the value does not change" />
          <DescriptionInput />
        </>
      )}
    >
      {(secret) => (
        <Panel title="Secret">
          <DescriptionList items={[
            ['Parameter value', <code key="reference">secret:{secret.name}</code>],
            ['Value set', <AbsoluteTime key="value" at={secret.value_changed_at} />],
            ['Last updated', <span key="updated"><AbsoluteTime at={secret.updated_at} /> by <UserName source="updated_by" /></span>],
            ['Created', <span key="created"><AbsoluteTime at={secret.created_at} /> by <UserName source="created_by" /></span>],
          ]}
          />
        </Panel>
      )}
    </EditPage>
  );
}

function UserName({ source }: { source: 'updated_by' | 'created_by' }) {
  return <ReferenceField source={source} reference="users" link="edit" emptyText="a deleted user"><TextField source="name" /></ReferenceField>;
}

function withoutEmptyValue({ value, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return value ? { ...rest, value } : rest;
}
