import { Box, Typography } from '@mui/material';
import { AutocompleteInput, BooleanInput, FormDataConsumer, NumberInput, ReferenceInput, required, SelectInput, TextInput, type Validator } from 'react-admin';

import { fieldValidator } from '../../api/validation';
import { KINDS, REASON_CHOICES, validateLag, type Kind } from './conditions';

const NAME = [required(), fieldValidator('AlertRuleCreate.name')];
const COUNT = [required(), fieldValidator('RestartsCondition.count')];
const MINUTES = [required(), fieldValidator('RestartsCondition.minutes')];
const requireLagLimit: Validator = (_, all: { condition?: Record<string, unknown> }) => validateLag(all.condition ?? {});
const RECORDS = [fieldValidator('LagCondition.records'), requireLagLimit];
const SECONDS = fieldValidator('LagCondition.seconds');
const SOURCE = fieldValidator('LagCondition.source');

/** The form fields of a rule. The kind and the job of an existing rule cannot be changed. */
export function RuleFields({ existing = false }: { existing?: boolean }) {
  return (
    <>
      <TextInput source="name" validate={NAME} autoComplete="off" />
      {!existing && (
        <>
          <ReferenceInput source="job_id" reference="jobs" sort={{ field: 'name', order: 'ASC' }}>
            <AutocompleteInput label="Job" optionText="name" filterToQuery={(q: string) => ({ q })} helperText="Leave empty for all jobs" />
          </ReferenceInput>
          <SelectInput source="condition.kind" label="Condition" choices={KINDS.map(({ id, name }) => ({ id, name }))} validate={required()} />
        </>
      )}
      <FormDataConsumer<{ condition?: { kind?: Kind } }>>{({ formData }) => <Limits kind={formData.condition?.kind} />}</FormDataConsumer>
      <ReferenceInput source="webhook_id" reference="webhooks" sort={{ field: 'name', order: 'ASC' }}>
        <SelectInput label="Webhook" optionText="name" emptyText="none" helperText="Receives a message for each alert" />
      </ReferenceInput>
      <BooleanInput source="enabled" label="Enabled" />
    </>
  );
}

function Limits({ kind }: { kind: Kind | undefined }) {
  const help = KINDS.find(({ id }) => id === kind)?.help;
  return (
    <Box sx={{ width: '100%' }}>
      {help && <Typography variant="body2" color="text.secondary" sx={{ mb: 1.5, maxWidth: 520 }}>{help}</Typography>}
      {(kind === 'failures' || kind === 'restarts') && <NumberInput source="condition.count" label="Count" min={1} step={1} validate={COUNT} />}
      {(kind === 'no-checkpoint' || kind === 'restarts') && <NumberInput source="condition.minutes" label="Minutes" min={1} step={1} validate={MINUTES} />}
      {kind === 'health' && <SelectInput source="condition.reason" label="Reason" choices={REASON_CHOICES} emptyText="any reason" helperText="Leave empty for any reason" />}
      {kind === 'lag' && (
        <>
          <NumberInput source="condition.records" label="Lag in records" min={1} step={1} validate={RECORDS} />
          <NumberInput source="condition.seconds" label="Lag in seconds of event time" min={0} validate={SECONDS} />
          <TextInput source="condition.source" label="Source" helperText="The uid of the source. Leave empty for any source" validate={SOURCE} />
        </>
      )}
    </Box>
  );
}
