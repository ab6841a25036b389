import { maxLength, minLength, PasswordInput, regex, required, TextInput } from 'react-admin';

import { CreatePage } from '../../shared/FormPage';
import { RoleInput, RollbackInput } from './RoleInputs';

/** The name pattern of the backend, for early feedback. The backend validates again. */
const NAME = /^[\p{L}\p{N}_.@+-]+( [\p{L}\p{N}_.@+-]+)*$/u;
export const PASSWORD_MIN = 12;
const PASSWORD_MAX = 1000;

export default function UserCreate() {
  return (
    <CreatePage resource="users" title="New user" defaults={{ role: 'viewer', rollback: false }} transform={filledIn}>
      <TextInput source="name" validate={[required(), maxLength(100), regex(NAME, 'Use letters, digits and . @ + - _, separated by single spaces')]} autoComplete="off" />
      <PasswordInput
        source="password"
        autoComplete="new-password"
        validate={[minLength(PASSWORD_MIN), maxLength(PASSWORD_MAX)]}
        helperText={`At least ${PASSWORD_MIN} characters. Empty: the user cannot log in with a password`}
      />
      <RoleInput />
      <RollbackInput />
    </CreatePage>
  );
}

function filledIn({ password, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return password ? { ...rest, password } : rest;
}
