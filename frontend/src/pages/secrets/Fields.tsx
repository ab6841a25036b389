import { required, TextInput } from 'react-admin';

import { fieldValidator } from '../../api/validation';

const VALUE = fieldValidator('SecretCreate.value');
const REQUIRED_VALUE = [required(), VALUE];
const DESCRIPTION = fieldValidator('SecretCreate.description');

/** The value can have several lines, such as a key in PEM format. */
export function ValueInput({ label, help, mandatory = false }: { label: string; help: string; mandatory?: boolean }) {
  return (
    <TextInput
      source="value"
      label={label}
      multiline
      validate={mandatory ? REQUIRED_VALUE : VALUE}
      helperText={help}
      autoComplete="off"
      slotProps={{ htmlInput: { spellCheck: false, autoCapitalize: 'off' } }}
    />
  );
}

export function DescriptionInput() {
  return <TextInput source="description" defaultValue="" parse={(text: string) => text} validate={DESCRIPTION} helperText="For what jobs use the secret" autoComplete="off" />;
}
