import { Box, Typography } from '@mui/material';
import {
  AutocompleteInput, BooleanInput, FormDataConsumer, maxLength, maxValue, minValue, NumberInput, ReferenceInput, required, SelectInput, TextInput, type Validator,
} from 'react-admin';

import { KINDS, lagProblem, type Kind } from './conditions';

const COUNT_MAX = 100;
const MINUTES_MAX = 1_440;
const SECONDS_MAX = 1e9;
const atMost = (most: number): Validator[] => [required(), minValue(1), maxValue(most)];
const someLimit: Validator = (_, all: { condition?: Record<string, unknown> }) => lagProblem(all.condition ?? {});

/** What a rule is about: its kind and its job stay once it is made. */
export function RuleFields({ made = false }: { made?: boolean }) {
  return (
    <>
      <TextInput source="name" validate={[required(), maxLength(100)]} autoComplete="off" />
      {!made && (
        <>
          <ReferenceInput source="job_id" reference="jobs" sort={{ field: 'name', order: 'ASC' }}>
            <AutocompleteInput label="Job" optionText="name" filterToQuery={(q: string) => ({ q })} helperText="Empty: for all jobs" />
          </ReferenceInput>
          <SelectInput source="condition.kind" label="Fires on" choices={KINDS.map(({ id, name }) => ({ id, name }))} validate={required()} />
        </>
      )}
      <FormDataConsumer<{ condition?: { kind?: Kind } }>>{({ formData }) => <Limits kind={formData.condition?.kind} />}</FormDataConsumer>
      <ReferenceInput source="webhook_id" reference="webhooks" sort={{ field: 'name', order: 'ASC' }}>
        <SelectInput label="Tells" optionText="name" emptyText="nobody" helperText="The webhook that messages go to. Nobody: alerts are shown only" />
      </ReferenceInput>
      <BooleanInput source="enabled" label="On" />
    </>
  );
}

function Limits({ kind }: { kind: Kind | undefined }) {
  const what = KINDS.find(({ id }) => id === kind)?.what;
  return (
    <Box sx={{ width: '100%' }}>
      {what && <Typography variant="body2" color="text.secondary" sx={{ mb: 1.5, maxWidth: 520 }}>{what}</Typography>}
      {(kind === 'failures' || kind === 'restarts') && <NumberInput source="condition.count" label="How often" min={1} max={COUNT_MAX} step={1} validate={atMost(COUNT_MAX)} />}
      {(kind === 'no-checkpoint' || kind === 'restarts') && <NumberInput source="condition.minutes" label="Minutes" min={1} max={MINUTES_MAX} step={1} validate={atMost(MINUTES_MAX)} />}
      {kind === 'lag' && (
        <>
          <NumberInput source="condition.records" label="Records behind" min={1} step={1} validate={[minValue(1), someLimit]} />
          <NumberInput source="condition.seconds" label="Seconds behind, of event time" min={0} validate={[minValue(0.001), maxValue(SECONDS_MAX)]} />
          <TextInput source="condition.source" label="Source" helperText="Its uid. Empty: any" validate={maxLength(200)} />
        </>
      )}
    </Box>
  );
}
