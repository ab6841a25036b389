import { PasswordInput, required, TextInput } from 'react-admin';

import { FIELDS } from '../../api/fields';
import { fieldValidator } from '../../api/validation';
import { CreatePage } from '../../shared/FormPage';
import { RoleInput, RollbackInput } from './RoleInputs';

const NAME = [required(), fieldValidator('UserCreate.name', 'Use letters, digits and . @ + - _, separated by single spaces')];
const PASSWORD = fieldValidator('UserCreate.password');

export default function NewUser() {
  return (
    <CreatePage resource="users" title="New user" defaults={{ role: 'viewer', rollback: false }} transform={filledIn}>
      <TextInput source="name" validate={NAME} autoComplete="off" />
      <PasswordInput
        source="password"
        autoComplete="new-password"
        validate={PASSWORD}
        helperText={`At least ${FIELDS['UserCreate.password'].minLength} characters. If this field is empty, the user cannot log in with a password`}
      />
      <RoleInput />
      <RollbackInput />
    </CreatePage>
  );
}

function filledIn({ password, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return password ? { ...rest, password } : rest;
}
