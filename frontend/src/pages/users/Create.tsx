import { maxLength, minLength, PasswordInput, regex, required, TextInput } from 'react-admin';

import { CreatePage } from '../../shared/FormPage';
import { RoleInput, RollbackInput } from './Role';

/** As weir_backend.auth.names has it, for who types; the backend says the last word. */
const NAME = /^[\p{L}\p{N}_.@+-]+( [\p{L}\p{N}_.@+-]+)*$/u;
export const PASSWORD_MIN = 12;
const PASSWORD_MAX = 1000;

export default function NewUser() {
  return (
    <CreatePage resource="users" title="New user" defaults={{ role: 'viewer', rollback: false }} transform={filledIn}>
      <TextInput source="name" validate={[required(), maxLength(100), regex(NAME, 'Letters, digits and . @ + - _, with single spaces in between')]} autoComplete="off" />
      <PasswordInput
        source="password"
        autoComplete="new-password"
        validate={[minLength(PASSWORD_MIN), maxLength(PASSWORD_MAX)]}
        helperText={`At least ${PASSWORD_MIN} characters. Without one nobody can log in, until one is given`}
      />
      <RoleInput />
      <RollbackInput />
    </CreatePage>
  );
}

function filledIn({ password, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return password ? { ...rest, password } : rest;
}
