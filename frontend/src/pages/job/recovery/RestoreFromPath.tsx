import { Alert, Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle, TextField } from '@mui/material';
import { useState } from 'react';

import { ApiProblem } from '../../../api/problem';
import { useCan } from '../../../auth/permissions';
import { ActionButton } from '../../../shared/ActionButton';
import { disabledReason, REQUEST_PENDING } from '../actions';
import { useJob } from '../useJob';
import { parsePastedPath, validate, toRequest, type RestoreForm } from './restorePath';
import { usePropose } from './useRecovery';

/** The buttons that propose to start a job without state, or to restore it from a path. */
export function RestoreActions() {
  const job = useJob();
  const [open, setOpen] = useState(false);
  const propose = usePropose();
  if (!useCan('operate')) return null;
  const busy = propose.isPending ? REQUEST_PENDING : null;
  return (
    <>
      <ActionButton label="Start without state…" disabledReason={busy ?? disabledReason(job.actions, 'start_without_state')} onClick={() => propose.mutate({ kind: 'upgrade', spec: job.spec_number, mode: 'stateless' })} />
      <ActionButton label="Restore from path…" disabledReason={busy ?? disabledReason(job.actions, 'restore')} onClick={() => setOpen(true)} />
      {open && <RestoreFromPathDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function RestoreFromPathDialog({ onClose }: { onClose(): void }) {
  const job = useJob();
  const [form, setForm] = useState<RestoreForm>({ path: '', checkpoint: '' });
  const [submitted, setSubmitted] = useState(false);
  const propose = usePropose({ toast: false });
  const errors = validate(form);
  const refused = propose.error instanceof ApiProblem ? propose.error.body.errors ?? {} : {};
  const errorOf = (name: keyof RestoreForm): string | undefined => (submitted ? errors[name] : null) ?? refused[`request.restore.${name}`];
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby="restore-title">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setSubmitted(true);
          if (errors.path === null && errors.checkpoint === null && !propose.isPending) propose.mutate(toRequest(form));
        }}
      >
        <DialogTitle id="restore-title">Restore {job.name} from a path</DialogTitle>
        <DialogContent sx={{ display: 'flex', flexDirection: 'column', gap: 2 }}>
          <DialogContentText>
            Weir copies a checkpoint and restores {job.name} from the copy. Output that {job.name} committed is revoked if the sink supports this, and an
            undo reinstates the output. You can review the plan before it is applied.
          </DialogContentText>
          {/* eslint-disable-next-line jsx-a11y/no-autofocus -- this is the main field of the dialog */}
          <TextField autoFocus label="Path" value={form.path} onChange={({ target: { value } }) => setForm(parsePastedPath(value, form))} error={errorOf('path') !== undefined} helperText={errorOf('path') ?? 'The checkpoint directory of one job, such as /srv/checkpoints/job or s3://bucket/prefix'} fullWidth />
          <TextField label="Checkpoint" value={form.checkpoint} onChange={({ target: { value } }) => setForm({ ...form, checkpoint: value })} error={errorOf('checkpoint') !== undefined} helperText={errorOf('checkpoint') ?? 'Leave empty for the newest checkpoint'} slotProps={{ htmlInput: { inputMode: 'numeric' } }} sx={{ maxWidth: 260 }} />
          {propose.error && <Alert severity="error" variant="outlined" sx={{ overflowWrap: 'anywhere' }}>{propose.error.message}</Alert>}
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="contained" disabled={propose.isPending}>Preview plan</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
