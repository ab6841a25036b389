import { Box, Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle, TextField } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNotify } from 'react-admin';

import { unwrap, api, ifMatch, idempotent } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { FIELDS } from '../../../api/fields';
import { useCan } from '../../../auth/permissions';
import { ConfirmDialog } from '../../../shared/ConfirmDialog';
import { ActionButton } from '../../../shared/ActionButton';
import { disabledReason, REQUEST_PENDING } from '../actions';
import { usePropose } from '../recovery/useRecovery';
import { useJob } from '../useJob';

type Checkpoint = Schemas['CheckpointRead'];
type Request = { verb: 'pin'; reason: string } | { verb: 'unpin' | 'verify' | 'delete' };

const ACCEPTED: Record<Request['verb'], string> = {
  pin: 'Checkpoint pinned',
  unpin: 'Checkpoint unpinned',
  verify: 'Verification requested',
  delete: 'Deletion requested',
};
const { maxLength: REASON_MAX } = FIELDS['CheckpointUpdate.reason'];

export function CheckpointActions({ of }: { of: Checkpoint }) {
  const job = useJob();
  const [dialog, setDialog] = useState<'pin' | 'delete' | null>(null);
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (request: Request) => send(request, of, job.id),
    onSuccess: (_, { verb }) => notify(ACCEPTED[verb], { type: 'info' }),
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => {
      setDialog(null);
      // Refetch even after an error, because the state that the page shows can be stale.
      void queries.invalidateQueries({ queryKey: ['checkpoints'] });
      void queries.invalidateQueries({ queryKey: ['job', job.id, 'checkpoints'] });
    },
  });
  const propose = usePropose();
  if (!useCan('operate')) return null;
  const busy = isPending ? REQUEST_PENDING : null;
  return (
    <Box role="group" aria-label={`Actions of checkpoint ${of.number}`} sx={{ display: 'flex', gap: 1, flexWrap: 'wrap' }}>
      <ActionButton label="Roll back…" ariaLabel={`Roll back to checkpoint ${of.number}…`} disabledReason={propose.isPending ? REQUEST_PENDING : disabledReason(of.actions, 'roll_back')} onClick={() => propose.mutate({ kind: 'rollback', checkpoint: of.number })} />
      {of.actions.some(({ verb }) => verb === 'unpin') ? (
        <ActionButton label="Unpin" disabledReason={busy ?? disabledReason(of.actions, 'unpin')} onClick={() => mutate({ verb: 'unpin' })} />
      ) : (
        <ActionButton label="Pin" disabledReason={busy ?? disabledReason(of.actions, 'pin')} onClick={() => setDialog('pin')} />
      )}
      <ActionButton label="Verify" disabledReason={busy ?? disabledReason(of.actions, 'verify')} onClick={() => mutate({ verb: 'verify' })} />
      <ActionButton label="Delete" color="error" disabledReason={busy ?? disabledReason(of.actions, 'delete')} onClick={() => setDialog('delete')} />
      {dialog === 'pin' && <PinDialog number={of.number} isPending={isPending} onPin={(reason) => mutate({ verb: 'pin', reason })} onClose={() => setDialog(null)} />}
      {dialog === 'delete' && (
        <ConfirmDialog
          title={`Delete ${of.is_savepoint ? 'savepoint' : 'checkpoint'} ${of.number} of ${job.name}?`}
          description="The files of this checkpoint are deleted permanently, except for files that other checkpoints use, too."
          confirmLabel="Delete"
          destructive
          busy={isPending}
          onConfirm={() => mutate({ verb: 'delete' })}
          onClose={() => setDialog(null)}
        />
      )}
    </Box>
  );
}

function PinDialog({ number, isPending, onPin, onClose }: { number: number; isPending: boolean; onPin: (reason: string) => void; onClose: () => void }) {
  const [reason, setReason] = useState('');
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby="pin-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onPin(reason.trim());
        }}
      >
        <DialogTitle id="pin-title">Pin checkpoint {number}?</DialogTitle>
        <DialogContent>
          <DialogContentText sx={{ mb: 2 }}>A pinned checkpoint is retained until each user who has pinned it unpins it.</DialogContentText>
          <TextField label="Reason" value={reason} onChange={({ target }) => setReason(target.value)} slotProps={{ htmlInput: { maxLength: REASON_MAX } }} fullWidth />
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="contained" loading={isPending}>Pin checkpoint</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

async function send(request: Request, { id, number, version }: Checkpoint, job_id: number): Promise<unknown> {
  const ofJob = { job_id, number };
  switch (request.verb) {
    case 'pin':
      return unwrap(api.PATCH('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: id }, header: ifMatch(version) }, body: { pinned: true, reason: request.reason } }));
    case 'unpin':
      return unwrap(api.PATCH('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: id }, header: ifMatch(version) }, body: { pinned: false, reason: '' } }));
    case 'verify':
      return idempotent((header) => api.POST('/api/v1/jobs/{job_id}/checkpoints/{number}/verify', { params: { path: ofJob, header } }));
    case 'delete':
      return unwrap(api.DELETE('/api/v1/jobs/{job_id}/checkpoints/{number}', { params: { path: ofJob } }));
  }
}
