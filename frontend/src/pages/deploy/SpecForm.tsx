import { Alert, Box, Button, IconButton, MenuItem, TextField, Typography } from '@mui/material';
import Close from '@mui/icons-material/Close';
import { useState, type ReactNode } from 'react';

import { ApiProblem } from '../../api/problem';
import { recoveryStrategyValues } from '../../api/schema';
import { Panel } from '../../shared/Panel';
import { fieldProblems, formProblems, problemsOfUnchangedFields, suggestJobName, type Draft, type FormValues, type TextFieldName } from './draft';
import { FileInput } from './FileInput';

interface Props {
  initial: Draft;
  /** Whether the form creates a version of an existing job. The form of a new version hides the fields of the job itself. */
  isNewVersion: boolean;
  /** Describes the file that is used if the user chooses no file. Null if the user must choose a file. */
  defaultFile: string | null;
  busy: boolean;
  error: Error | null;
  onSend(draft: Draft, file: File | null): void;
  children?: ReactNode;
}

export function SpecForm({ initial, isNewVersion, defaultFile, busy, error, onSend, children }: Props) {
  const [draft, setDraft] = useState(initial);
  const [file, setFile] = useState<File | null>(null);
  const [submitted, setSubmitted] = useState(false);
  const values: FormValues = { ...draft, file };
  const [sent, setSent] = useState(values);
  const refused = problemsOfUnchangedFields(error instanceof ApiProblem ? fieldProblems(error) : {}, sent, values);
  const invalid = formProblems(draft, { file, hasFile: defaultFile !== null });
  // Invalid fields are reported after the first attempt to submit.
  const problems = submitted ? { ...refused, ...invalid } : refused;
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const field = (name: TextFieldName, label: string, help = '', values?: readonly string[]) => (
    <TextField
      select={values !== undefined}
      label={label}
      value={draft[name]}
      onChange={({ target: { value } }) => set({ [name]: value })}
      error={problems[name] !== undefined}
      helperText={problems[name] ?? (help || undefined)}
    >
      {values?.map((value) => <MenuItem key={value} value={value}>{value}</MenuItem>)}
    </TextField>
  );
  return (
    <Box
      component="form"
      noValidate
      sx={{ display: 'flex', flexDirection: 'column', gap: 2, maxWidth: 860 }}
      onSubmit={(event) => {
        event.preventDefault();
        setSubmitted(true);
        if (Object.keys(invalid).length > 0 || busy) return;
        setSent(values);
        onSend(draft, file);
      }}
    >
      <Panel title="Code">
        <FileInput
          file={file}
          defaultFile={defaultFile}
          problem={problems.file}
          onChoose={(chosen) => {
            setFile(chosen);
            if (!isNewVersion && draft.name === '') set({ name: suggestJobName(chosen.name) });
          }}
        />
        <FieldGrid>
          {!isNewVersion && field('name', 'Job name')}
          {field('entry', 'Function', 'If the file is an archive, enter package.module:function')}
          {!isNewVersion && field('description', 'Description')}
          {field('comment', 'Version comment')}
        </FieldGrid>
      </Panel>
      <Panel title="Parallelism and checkpoints">
        <FieldGrid>
          {field('parallelism', 'Parallelism', 'Subtasks per operator')}
          {field('interval', 'Checkpoint interval', 'For example 10s, 2m or 500ms. Leave empty for manual checkpoints only')}
          {field('retained', 'Retained checkpoints', 'Savepoints and pinned checkpoints are also retained')}
          {field('timeout', 'Checkpoint timeout', 'A checkpoint that takes longer than this timeout fails')}
          {field('minPause', 'Minimum pause', 'The pause between two checkpoints. Leave empty for no minimum')}
          {field('tolerable', 'Tolerable failed checkpoints', 'The job restarts if more than this number of checkpoints fail in a row. Leave empty for no limit')}
        </FieldGrid>
      </Panel>
      <Panel title="Recovery, timeouts and memory">
        <FieldGrid>
          {field('recovery', 'Recovery', 'regional: if a slot fails that exchanges no records with other slots, only this slot restarts. full: all slots restart', recoveryStrategyValues)}
          {field('heartbeatTimeout', 'Heartbeat timeout', 'Weir replaces a slot that sends nothing for this time')}
          {field('stuckTimeout', 'Stuck timeout', 'Weir replaces a slot if one step of its loop takes longer than this timeout. Enter none for no limit')}
          {field('callTimeout', 'Call timeout', 'Weir replaces a slot if one of its blocking calls takes longer than this timeout. Enter none for no limit')}
          {field('slotsTimeout', 'Slots timeout', 'The job fails if its slots do not start within this time. Enter none for no limit')}
          {field('deployTimeout', 'Deploy timeout', 'The job restarts if a deployment makes no progress for this time')}
          {field('cancelTimeout', 'Cancel timeout', 'Before a restart, Weir replaces a slot that does not cancel its subtasks within this time')}
          {field('connectTimeout', 'Connect timeout', 'Maximum time for a slot to connect to the driver or to another slot')}
          {field('networkMemory', 'Network memory', 'Memory of each slot for records from other slots, for example 256MiB')}
          {field('bufferTimeout', 'Buffer timeout', 'Maximum time that records wait in a buffer between two operators, such as 5ms. Enter 0 for no wait')}
        </FieldGrid>
      </Panel>
      <Panel title="Parameters" actions={<Button size="small" onClick={() => set({ parameters: [...draft.parameters, { name: '', value: '' }] })}>Add parameter</Button>}>
        {draft.parameters.length === 0 && <Typography sx={{ color: 'text.secondary' }}>Parameters are arguments of the function. A value is a number, true, false or text. Do not enter secrets, because every user can read versions.</Typography>}
        <Box sx={{ display: 'flex', flexDirection: 'column', gap: 1.5, pt: 0.5 }}>
          {draft.parameters.map(({ name, value }, at) => {
            const change = (one: Partial<{ name: string; value: string }>): void => set({ parameters: draft.parameters.map((before, index) => (index === at ? { ...before, ...one } : before)) });
            const problem = problems[`parameters.${name.trim()}`];
            return (
              <Box key={at} sx={{ display: 'flex', gap: 1, alignItems: 'flex-start' }}>
                <TextField label="Name" value={name} onChange={({ target }) => change({ name: target.value })} error={problem !== undefined} helperText={problem} sx={{ width: 220 }} />
                <TextField label="Value" value={value} onChange={({ target }) => change({ value: target.value })} sx={{ flex: 1 }} />
                <IconButton aria-label={`Remove parameter ${name || at + 1}`} onClick={() => set({ parameters: draft.parameters.filter((_, index) => index !== at) })}><Close fontSize="small" /></IconButton>
              </Box>
            );
          })}
        </Box>
      </Panel>
      {error && <Alert severity="error" variant="outlined">{error.message}</Alert>}
      {submitted && Object.keys(invalid).length > 0 && <Alert severity="warning" variant="outlined">Some fields are missing or invalid. Check the fields above.</Alert>}
      <Box sx={{ display: 'flex', gap: 1, alignItems: 'center' }}>
        <Button type="submit" variant="contained" disabled={busy}>Upload and compile</Button>
        {children}
      </Box>
    </Box>
  );
}

function FieldGrid({ children }: { children: ReactNode }) {
  return <Box sx={{ mt: 1.5, display: 'grid', gap: 1.5, gridTemplateColumns: 'repeat(auto-fill, minmax(240px, 1fr))' }}>{children}</Box>;
}
