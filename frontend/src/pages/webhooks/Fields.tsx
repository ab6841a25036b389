import { BooleanInput, maxLength, regex, required, TextInput } from 'react-admin';

const URL = /^https?:\/\/[^\s@/]+(\/\S*)?$/;
/** As weir_backend.kit.forms has it, and weir_backend.webhooks.schemas. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const KEY = /^(env:WEIR_WEBHOOK_KEY_[A-Z0-9_]{1,80}|file:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$/;

export function WebhookFields() {
  return (
    <>
      <TextInput source="name" validate={[required(), maxLength(100), regex(NAME, 'Letters, digits and . _ -, without spaces')]} autoComplete="off" />
      <TextInput source="url" label="URL" validate={[required(), regex(URL, 'http or https, without user and password')]} helperText="Workers send messages here: https://hooks.example.com/weir" autoComplete="off" />
      <TextInput
        source="secret_reference"
        label="Where its key is"
        validate={regex(KEY, 'env:WEIR_WEBHOOK_KEY_NAME or file:NAME')}
        helperText="env:WEIR_WEBHOOK_KEY_OPS, a variable of the workers, or file:ops, a file of theirs. Empty: messages are not signed"
        autoComplete="off"
      />
      <BooleanInput source="enabled" label="On" helperText="Switched off, it gives up what it has not sent yet" />
    </>
  );
}
