import { BooleanInput, maxLength, regex, required, TextInput } from 'react-admin';

const URL = /^https?:\/\/[^\s@/]+(\/\S*)?$/;
/** The patterns of the backend, for early feedback. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const KEY = /^(env:WEIR_WEBHOOK_KEY_[A-Z0-9_]{1,80}|file:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$/;

export function WebhookFields() {
  return (
    <>
      <TextInput source="name" validate={[required(), maxLength(100), regex(NAME, 'Use letters, digits and . _ - without spaces')]} autoComplete="off" />
      <TextInput source="url" label="URL" validate={[required(), regex(URL, 'Enter an http or https URL without user and password')]} helperText="For example https://hooks.example.com/weir" autoComplete="off" />
      <TextInput
        source="secret_reference"
        label="Signing key reference"
        validate={regex(KEY, 'Use env:WEIR_WEBHOOK_KEY_NAME or file:NAME')}
        helperText="A variable or file of the workers, such as env:WEIR_WEBHOOK_KEY_OPS or file:ops. Empty: messages are not signed"
        autoComplete="off"
      />
      <BooleanInput source="enabled" label="Enabled" helperText="Disabling it discards pending deliveries" />
    </>
  );
}
