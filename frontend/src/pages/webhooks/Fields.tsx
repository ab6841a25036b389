import { BooleanInput, CheckboxGroupInput, FormDataConsumer, required, SelectInput, TextInput } from 'react-admin';

import type { Schemas } from '../../api/types';
import { fieldValidator } from '../../api/validation';
import { EVENTS, FORMATS } from './formats';

type Format = Schemas['WebhookFormat'];

const NAME = [required(), fieldValidator('WebhookCreate.name', 'Use letters, digits and . _ - without spaces')];
const URL = [required(), fieldValidator('WebhookCreate.url')];
const KEY = fieldValidator('WebhookCreate.secret_reference', 'Use env:WEIR_WEBHOOK_KEY_NAME or file:NAME');
const ROUTING_KEY = [required(), KEY];

export function WebhookFields() {
  return <FormDataConsumer<{ format?: Format }>>{({ formData }) => <Fields format={formData.format} />}</FormDataConsumer>;
}

function Fields({ format }: { format: Format | undefined }) {
  const forPagerDuty = format === 'pagerduty';
  return (
    <>
      <TextInput source="name" validate={NAME} autoComplete="off" />
      <SelectInput source="format" label="Format" choices={[...FORMATS]} validate={required()} helperText="The product that receives the messages" />
      <TextInput source="url" label="URL" validate={URL} helperText={FORMATS.find(({ id }) => id === format)?.help} autoComplete="off" />
      <TextInput
        source="secret_reference"
        label={forPagerDuty ? 'Routing key reference' : 'Signing key reference'}
        validate={forPagerDuty ? ROUTING_KEY : KEY}
        helperText={`A variable or file of the workers, such as env:WEIR_WEBHOOK_KEY_OPS or file:ops${forPagerDuty ? ', that contains the integration key' : '. If this field is empty, messages are not signed'}`}
        autoComplete="off"
      />
      <CheckboxGroupInput
        source="events"
        label="Events"
        choices={[...EVENTS]}
        validate={required()}
        helperText={forPagerDuty ? 'Only failed operations and failed plans open an incident' : 'Alerts of the rules that name this webhook, outcomes of operations, and changes of plans'}
      />
      <BooleanInput source="enabled" label="Enabled" helperText="Disabling the webhook discards pending deliveries" />
    </>
  );
}
