import { BooleanInput, required, TextInput } from 'react-admin';

import { fieldValidator } from '../../api/validation';

const NAME = [required(), fieldValidator('WebhookCreate.name', 'Use letters, digits and . _ - without spaces')];
const URL = [required(), fieldValidator('WebhookCreate.url')];
const KEY = fieldValidator('WebhookCreate.secret_reference', 'Use env:WEIR_WEBHOOK_KEY_NAME or file:NAME');

export function WebhookFields() {
  return (
    <>
      <TextInput source="name" validate={NAME} autoComplete="off" />
      <TextInput source="url" label="URL" validate={URL} helperText="For example https://hooks.example.com/weir" autoComplete="off" />
      <TextInput
        source="secret_reference"
        label="Signing key reference"
        validate={KEY}
        helperText="A variable or file of the workers, such as env:WEIR_WEBHOOK_KEY_OPS or file:ops. If this field is empty, messages are not signed"
        autoComplete="off"
      />
      <BooleanInput source="enabled" label="Enabled" helperText="Disabling the webhook discards pending deliveries" />
    </>
  );
}
