import { BooleanInput, RadioButtonGroupInput, required } from 'react-admin';

import { ROLES } from './roles';

/** The role fields of users and tokens. */
export function RoleInput({ within = ROLES.map(({ id }) => id) }: { within?: readonly string[] }) {
  const choices = ROLES.filter(({ id }) => within.includes(id)).map(({ id, name, may }) => ({ id, name: `${name}: ${may}` }));
  return <RadioButtonGroupInput source="role" row={false} choices={choices} validate={required()} />;
}

export function RollbackInput() {
  return <BooleanInput source="rollback" label="May roll back" helperText="Approve and apply plans that revoke committed output, revoke unknown output at a start, and delete savepoints" />;
}
