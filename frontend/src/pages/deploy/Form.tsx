import { Alert, Box, Button, IconButton, TextField, Typography } from '@mui/material';
import Close from '@mui/icons-material/Close';
import { useState, type ReactNode } from 'react';

import { ApiProblem } from '../../api/problem';
import { Panel } from '../../shared/Panel';
import { nameFor, problemsOf, refusedFields, type Draft, type Field } from './draft';
import { FileChoice } from './FileChoice';

interface Props {
  initial: Draft;
  /** Of a new version: the job has its name already. */
  named: boolean;
  /** The file that is used if no other is chosen; null: one has to be. */
  otherwise: string | null;
  busy: boolean;
  error: Error | null;
  onSend(draft: Draft, file: File | null): void;
  children?: ReactNode;
}

export function Form({ initial, named, otherwise, busy, error, onSend, children }: Props) {
  const [draft, setDraft] = useState(initial);
  const [file, setFile] = useState<File | null>(null);
  const [tried, setTried] = useState(false);
  const [sent, setSent] = useState(draft);
  const refused = error instanceof ApiProblem ? refusedFields(error) : {};
  // What is another one by now was not refused.
  if (draft.name !== sent.name) delete refused.name;
  const mine = problemsOf(draft, { file, hasFile: otherwise !== null });
  // Before the first try nobody is told what he has not typed yet.
  const problems = tried ? { ...refused, ...mine } : refused;
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const field = (name: Exclude<Field, 'file' | `parameters.${number}`>, label: string, help = '') => (
    <TextField
      label={label}
      value={draft[name]}
      onChange={({ target: { value } }) => set({ [name]: value })}
      error={problems[name] !== undefined}
      helperText={problems[name] ?? (help || undefined)}
    />
  );
  return (
    <Box
      component="form"
      noValidate
      sx={{ display: 'flex', flexDirection: 'column', gap: 2, maxWidth: 860 }}
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (Object.keys(mine).length > 0 || busy) return;
        setSent(draft);
        onSend(draft, file);
      }}
    >
      <Panel title="Code">
        <FileChoice
          file={file}
          otherwise={otherwise}
          problem={problems.file}
          onChoose={(chosen) => {
            setFile(chosen);
            if (!named && draft.name === '') set({ name: nameFor(chosen.name) });
          }}
        />
        <Fields>
          {!named && field('name', 'Name of the job')}
          {field('entry', 'Function', 'Of an archive: package.module:function')}
          {!named && field('description', 'What it is for')}
          {field('comment', 'Comment on this version')}
        </Fields>
      </Panel>
      <Panel title="Parallelism and checkpoints">
        <Fields>
          {field('parallelism', 'Parallelism', 'Subtasks of each operator')}
          {field('interval', 'Checkpoint every', '10s, 2m, 500ms; empty: only when asked for')}
          {field('retained', 'Keep the newest', 'Checkpoints, beside savepoints and pinned ones')}
          {field('timeout', 'Checkpoint timeout', 'One that takes longer has failed')}
          {field('minPause', 'Minimum pause', 'From the end of one to the beginning of the next; empty: none')}
          {field('tolerable', 'Tolerable failed checkpoints', 'In a row; after one more the job recovers as from a failure. Empty: any number')}
        </Fields>
      </Panel>
      <Panel title="Parameters" actions={<Button size="small" onClick={() => set({ parameters: [...draft.parameters, { name: '', value: '' }] })}>Add one</Button>}>
        {draft.parameters.length === 0 && <Typography sx={{ color: 'text.secondary' }}>What the function takes: numbers, true and false, texts. No secrets: versions are shown to everybody.</Typography>}
        <Box sx={{ display: 'flex', flexDirection: 'column', gap: 1.5, pt: 0.5 }}>
          {draft.parameters.map(({ name, value }, at) => {
            const change = (one: Partial<{ name: string; value: string }>): void => set({ parameters: draft.parameters.map((before, index) => (index === at ? { ...before, ...one } : before)) });
            const problem = problems[`parameters.${at}`];
            return (
              <Box key={at} sx={{ display: 'flex', gap: 1, alignItems: 'flex-start' }}>
                <TextField label="Name" value={name} onChange={({ target }) => change({ name: target.value })} error={problem !== undefined} helperText={problem} sx={{ width: 220 }} />
                <TextField label="Value" value={value} onChange={({ target }) => change({ value: target.value })} sx={{ flex: 1 }} />
                <IconButton aria-label={`Remove the parameter ${name || at + 1}`} onClick={() => set({ parameters: draft.parameters.filter((_, index) => index !== at) })}><Close fontSize="small" /></IconButton>
              </Box>
            );
          })}
        </Box>
      </Panel>
      {error && <Alert severity="error" variant="outlined">{error.message}</Alert>}
      {tried && Object.keys(mine).length > 0 && <Alert severity="warning" variant="outlined">Something is missing or does not fit: see the fields above.</Alert>}
      <Box sx={{ display: 'flex', gap: 1, alignItems: 'center' }}>
        <Button type="submit" variant="contained" disabled={busy}>Upload and compile</Button>
        {children}
      </Box>
    </Box>
  );
}

function Fields({ children }: { children: ReactNode }) {
  return <Box sx={{ mt: 1.5, display: 'grid', gap: 1.5, gridTemplateColumns: 'repeat(auto-fill, minmax(240px, 1fr))' }}>{children}</Box>;
}
