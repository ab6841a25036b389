import { Alert, Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle, TextField } from '@mui/material';
import { useState } from 'react';

import { useCan } from '../../../auth/useCan';
import { Verb } from '../../../shared/Verb';
import { useJob } from '../useJob';
import { whyNotAnew, whyNotRestore } from './allowed';
import { pasted, problemsOf, requestOf, type Typed } from './place';
import { usePropose } from './useRecovery';

/** Beginnings that are not in the tree: a checkpoint from somewhere else, and none at all. Both are proposed only. */
export function Elsewhere() {
  const job = useJob();
  const [asking, setAsking] = useState(false);
  const propose = usePropose();
  if (!useCan('operate')) return null;
  const busy = propose.isPending ? 'It is being asked for.' : null;
  return (
    <>
      <Verb label="Begin anew…" why={busy ?? whyNotAnew(job)} onClick={() => propose.mutate({ kind: 'upgrade', spec: job.spec_number, mode: 'stateless' })} />
      <Verb label="Restore from a path…" why={busy ?? whyNotRestore(job)} onClick={() => setAsking(true)} />
      {asking && <FromPath onClose={() => setAsking(false)} />}
    </>
  );
}

function FromPath({ onClose }: { onClose(): void }) {
  const job = useJob();
  const [typed, setTyped] = useState<Typed>({ path: '', checkpoint: '' });
  const [tried, setTried] = useState(false);
  const propose = usePropose({ toast: false });
  const problems = problemsOf(typed);
  const shown = tried ? problems : {};
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby="restore-title">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (Object.keys(problems).length === 0 && !propose.isPending) propose.mutate(requestOf(typed));
        }}
      >
        <DialogTitle id="restore-title">Restore {job.name} from a path</DialogTitle>
        <DialogContent sx={{ display: 'flex', flexDirection: 'column', gap: 2 }}>
          <DialogContentText>
            A checkpoint of another job, or a copy of one. It is copied, and what is there is left alone. What {job.name} has committed is taken back where the
            sink can; an undo brings it back. You see what it would do first.
          </DialogContentText>
          {/* eslint-disable-next-line jsx-a11y/no-autofocus -- what the dialog is for */}
          <TextField autoFocus label="Path" value={typed.path} onChange={({ target: { value } }) => setTyped(pasted(value, typed))} error={shown.path !== undefined} helperText={shown.path ?? 'A directory of checkpoints with one job in it, or that of a job, as the machines of the workers see it'} fullWidth />
          <TextField label="Checkpoint" value={typed.checkpoint} onChange={({ target: { value } }) => setTyped({ ...typed, checkpoint: value })} error={shown.checkpoint !== undefined} helperText={shown.checkpoint ?? 'Its number there; empty for the newest'} slotProps={{ htmlInput: { inputMode: 'numeric' } }} sx={{ maxWidth: 260 }} />
          {propose.error && <Alert severity="error" variant="outlined" sx={{ overflowWrap: 'anywhere' }}>{propose.error.message}</Alert>}
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" variant="contained" disabled={propose.isPending}>See what it would do</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
