import { Button, Checkbox, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle, FormControlLabel, FormHelperText, ListItemText, Menu, MenuItem, TextField } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useId, useState } from 'react';
import { useNotify } from 'react-admin';
import { useNavigate } from 'react-router-dom';

import { unwrap, api, ifMatch, idempotent } from '../../api/client';
import { FIELDS } from '../../api/fields';
import type { Schemas } from '../../api/types';
import { fieldError } from '../../api/validation';
import { useCan } from '../../auth/permissions';
import { ConfirmDialog, type ConfirmDialogProps } from '../../shared/ConfirmDialog';
import { ActionButton } from '../../shared/ActionButton';
import { disabledReason, hasAction, REQUEST_PENDING } from './actions';
import { usePropose } from './recovery/useRecovery';
import { onVerbRequested } from './requestedVerb';
import { useJob, useSpec } from './useJob';

/** The verbs of the header and of the menu "More", in order of display. The header shows the verb `savepoint` only while the job can be suspended. */
const HEADER = ['start', 'savepoint', 'suspend', 'cancel'] as const;
const MENU = ['rescale', 'upgrade', 'delete'] as const;
export type JobVerb = (typeof HEADER)[number] | (typeof MENU)[number];
type RequestVerb = Exclude<JobVerb, 'rescale' | 'upgrade'>;

export const LABEL: Record<JobVerb, string> = { start: 'Start', suspend: 'Suspend', cancel: 'Cancel', savepoint: 'Trigger savepoint', rescale: 'Rescale…', upgrade: 'New version…', delete: 'Delete…' };

/** `accepted`: the notification that is shown after the API has accepted the request. */
type Confirmation = Pick<ConfirmDialogProps, 'title' | 'description' | 'confirmLabel' | 'dismissLabel' | 'destructive'> & { accepted: string };
const CONFIRMATION: Record<RequestVerb, Confirmation> = {
  start: { title: 'Start', confirmLabel: 'Start', accepted: 'Start requested', description: 'The job resumes from its newest checkpoint. A job without checkpoints starts without state.' },
  suspend: { title: 'Suspend', confirmLabel: 'Suspend', accepted: 'Suspend requested', description: 'The job takes a last checkpoint and stops. When you start the job again, it resumes from its last checkpoint.' },
  cancel: {
    title: 'Cancel', confirmLabel: 'Cancel job', dismissLabel: 'Keep running', accepted: 'Cancel requested', destructive: true,
    description: 'The job stops immediately, without a last checkpoint. When you start the job again, it resumes from its newest checkpoint and reads the input after that checkpoint again.',
  },
  savepoint: { title: 'Trigger savepoint of', confirmLabel: 'Trigger savepoint', accepted: 'Savepoint triggered', description: 'A savepoint stays until a user deletes it. The job continues to run.' },
  delete: {
    title: 'Delete', confirmLabel: 'Delete job', accepted: 'Job deleted', destructive: true,
    description: 'The job is removed from this installation. The checkpoints and the output of the job are kept. The logs of all runs of the job are deleted.',
  },
};

async function send(verb: RequestVerb, job_id: number, version: number, start: Schemas['JobStart']): Promise<void> {
  const path = { job_id };
  if (verb === 'delete') {
    await unwrap(api.DELETE('/api/v1/jobs/{job_id}', { params: { path, header: ifMatch(version) } }));
    return;
  }
  await idempotent((header) => {
    switch (verb) {
      case 'start':
        return api.POST('/api/v1/jobs/{job_id}/start', { params: { path, header }, body: start });
      case 'suspend':
        return api.POST('/api/v1/jobs/{job_id}/suspend', { params: { path, header } });
      case 'cancel':
        return api.POST('/api/v1/jobs/{job_id}/cancel', { params: { path, header } });
      case 'savepoint':
        return api.POST('/api/v1/jobs/{job_id}/savepoints', { params: { path, header } });
    }
  });
}

export function JobActions() {
  const job = useJob();
  const [confirming, setConfirming] = useState<RequestVerb | null>(null);
  const [rescaling, setRescaling] = useState(false);
  const [revokesUnknownOutput, setRevokesUnknownOutput] = useState(false);
  const mayRevoke = useCan('rollback');
  const notify = useNotify();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { mutate, isPending } = useMutation({
    mutationFn: (verb: RequestVerb) => send(verb, job.id, job.version, { revoke_unknown_output: revokesUnknownOutput }),
    onSuccess: (_, verb) => {
      notify(CONFIRMATION[verb].accepted, { type: 'info' });
      if (verb === 'delete') void navigate('/jobs');
      // After a deletion, refetch only the lists, because a request for the deleted job would fail.
      void queries.invalidateQueries({ queryKey: verb === 'delete' ? ['jobs', 'getList'] : ['jobs'] });
    },
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => setConfirming(null),
  });
  const mayOperate = useCan('operate');
  const choose = (verb: JobVerb): void => {
    if (verb === 'rescale') setRescaling(true);
    else if (verb === 'upgrade') void navigate(`/jobs/${job.id}/new-version`);
    else {
      setRevokesUnknownOutput(false);
      setConfirming(verb);
    }
  };
  const chooseRequested = useEffectEvent(choose);
  useEffect(() => onVerbRequested((verb) => chooseRequested(verb)), []);
  if (!mayOperate) return null;
  const inHeader = HEADER.filter((verb) => hasAction(job.actions, verb) && (verb !== 'savepoint' || hasAction(job.actions, 'suspend')));
  return (
    <>
      {inHeader.map((verb) => (
        <ActionButton key={verb} label={LABEL[verb]} color={verb === 'cancel' ? 'error' : 'primary'} disabledReason={isPending ? REQUEST_PENDING : disabledReason(job.actions, verb)} onClick={() => choose(verb)} />
      ))}
      <MoreMenu onChoose={choose} />
      {confirming && (
        <ConfirmDialog
          {...CONFIRMATION[confirming]}
          title={`${CONFIRMATION[confirming].title} ${job.name}?`}
          busy={isPending}
          onConfirm={() => mutate(confirming)}
          onClose={() => setConfirming(null)}
        >
          {confirming === 'start' && mayRevoke && <RevokeUnknownOutput checked={revokesUnknownOutput} onChange={setRevokesUnknownOutput} />}
        </ConfirmDialog>
      )}
      {rescaling && <Rescale onClose={() => setRescaling(false)} />}
    </>
  );
}

/**
 * An option of a start. If the checkpoint directory is an older backup, the driver refuses to start the job and suggests `--revoke-unknown-output`.
 */
function RevokeUnknownOutput({ checked, onChange }: { checked: boolean; onChange(checked: boolean): void }) {
  const help = useId();
  return (
    <>
      <FormControlLabel
        sx={{ mt: 1.5 }}
        control={<Checkbox size="small" checked={checked} onChange={(_, now) => onChange(now)} slotProps={{ input: { 'aria-describedby': help } }} />}
        label="Revoke unknown output"
      />
      <FormHelperText id={help}>Start even if sinks have published output that the job log does not contain, and revoke this output (--revoke-unknown-output).</FormHelperText>
    </>
  );
}

function MoreMenu({ onChoose }: { onChoose(verb: JobVerb): void }) {
  const { actions } = useJob();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  return (
    <>
      <Button size="small" variant="outlined" aria-haspopup="menu" aria-expanded={anchor !== null} onClick={({ currentTarget }) => setAnchor(currentTarget)}>More</Button>
      <Menu anchorEl={anchor} open={anchor !== null} onClose={() => setAnchor(null)} slotProps={{ list: { disabledItemsFocusable: true } }}>
        {MENU.map((verb) => (
          <MenuItem
            key={verb}
            dense
            disabled={disabledReason(actions, verb) !== null}
            // Only the label of a disabled item is grey, so that the reason below the label stays readable.
            sx={{ '&.Mui-disabled': { opacity: 1 }, '&.Mui-disabled .MuiListItemText-primary': { color: 'text.disabled' } }}
            onClick={() => {
              setAnchor(null);
              onChoose(verb);
            }}
          >
            <ListItemText primary={LABEL[verb]} secondary={disabledReason(actions, verb)} sx={{ maxWidth: 320, '& .MuiListItemText-secondary': { whiteSpace: 'normal' } }} />
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}

const { minimum: PARALLELISM_MIN, maximum: PARALLELISM_MAX } = FIELDS['RescaleRequest.parallelism'];

/** A dialog that asks for the new parallelism of the job and then proposes a plan to rescale the job. */
function Rescale({ onClose }: { onClose(): void }) {
  const job = useJob();
  const [input, setInput] = useState('');
  const propose = usePropose();
  const parallelism = Number(input);
  const { data } = useSpec();
  const current = data?.body.parallelism as number | undefined;
  const unchanged = input !== '' && parallelism === current;
  const valid = fieldError('RescaleRequest.parallelism', input) === null && !unchanged;
  return (
    <Dialog open onClose={onClose} aria-labelledby="rescale-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (valid) propose.mutate({ kind: 'rescale', parallelism }, { onSettled: onClose });
        }}
      >
        <DialogTitle id="rescale-title">Rescale {job.name}</DialogTitle>
        <DialogContent>
          <DialogContentText sx={{ mb: 2 }}>The job takes a last checkpoint, stops, and resumes with the new parallelism. You can review the plan before it is applied.</DialogContentText>
          {/* eslint-disable-next-line jsx-a11y/no-autofocus -- this is the only field of the dialog */}
          <TextField autoFocus label="Parallelism" value={input} onChange={({ target: { value } }) => setInput(value)} error={input !== '' && !valid} helperText={unchanged ? `The job already has parallelism ${current}.` : `${PARALLELISM_MIN} to ${PARALLELISM_MAX}${current === undefined ? '' : `; currently ${current}`}`} slotProps={{ htmlInput: { inputMode: 'numeric' } }} />
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="contained" disabled={!valid || propose.isPending}>Preview plan</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
