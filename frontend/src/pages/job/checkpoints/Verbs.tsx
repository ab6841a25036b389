import { Box, Button, Dialog, DialogActions, DialogContent, DialogContentText, DialogTitle, TextField } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNotify } from 'react-admin';

import { answered, api, ifMatch, once } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useCan } from '../../../auth/useCan';
import { Sure } from '../../../shared/Sure';
import { Verb } from '../../../shared/Verb';
import { whyNotBackTo } from '../recovery/allowed';
import { usePropose } from '../recovery/useRecovery';
import { useJob } from '../useJob';
import { allowed } from './allowed';

type Checkpoint = Schemas['CheckpointBody'];
type Ask = { verb: 'pin'; reason: string } | { verb: 'unpin' | 'verify' | 'delete' };

const SAID: Record<Ask['verb'], string> = {
  pin: 'It is pinned',
  unpin: 'It is not pinned any more',
  verify: 'A worker reads its files; what it finds will be shown here',
  delete: 'It is being deleted',
};
const REASON_MAX = 500;

export function Verbs({ of }: { of: Checkpoint }) {
  const job = useJob();
  const [asking, setAsking] = useState<'pin' | 'delete' | null>(null);
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (asked: Ask) => send(asked, of, job.id),
    onSuccess: (_, { verb }) => notify(SAID[verb], { type: 'info' }),
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => {
      setAsking(null);
      // Also after a refusal: it may be that what is shown is old.
      void queries.invalidateQueries({ queryKey: ['checkpoints'] });
      void queries.invalidateQueries({ queryKey: ['job', job.id, 'checkpoints'] });
    },
  });
  const propose = usePropose();
  if (!useCan('operate')) return null;
  const why = allowed(of, job);
  const busy = isPending ? 'It is being asked for.' : null;
  return (
    <Box role="group" aria-label={`What can be done with checkpoint ${of.number}`} sx={{ display: 'flex', gap: 1, flexWrap: 'wrap' }}>
      <Verb label="Go back…" name={`Go back to checkpoint ${of.number}: see what would happen`} why={(propose.isPending ? 'A plan is being proposed.' : null) ?? whyNotBackTo(of, job)} onClick={() => propose.mutate({ kind: 'rollback', checkpoint: of.number })} />
      {of.pinned ? (
        <Verb label="Unpin" why={busy ?? why.pin} onClick={() => mutate({ verb: 'unpin' })} />
      ) : (
        <Verb label="Pin" why={busy ?? why.pin} onClick={() => setAsking('pin')} />
      )}
      <Verb label="Verify" why={busy ?? why.verify} onClick={() => mutate({ verb: 'verify' })} />
      <Verb label="Delete" color="error" why={busy ?? why.delete} onClick={() => setAsking('delete')} />
      {asking === 'pin' && <PinDialog number={of.number} isPending={isPending} onPin={(reason) => mutate({ verb: 'pin', reason })} onClose={() => setAsking(null)} />}
      {asking === 'delete' && (
        <Sure
          title={`Delete ${of.is_savepoint ? 'savepoint' : 'checkpoint'} ${of.number} of ${job.name}?`}
          what="Its files are deleted, and nothing brings them back. What it shares with other checkpoints stays."
          does="Delete"
          final
          busy={isPending}
          onConfirm={() => mutate({ verb: 'delete' })}
          onClose={() => setAsking(null)}
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
          <DialogContentText sx={{ mb: 2 }}>It is kept, however old it gets, until somebody lets go of it.</DialogContentText>
          <TextField label="Why (others will read it)" value={reason} onChange={({ target }) => setReason(target.value)} slotProps={{ htmlInput: { maxLength: REASON_MAX } }} fullWidth />
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" variant="contained" loading={isPending}>Pin</Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

async function send(asked: Ask, { id, number, version }: Checkpoint, job_id: number): Promise<unknown> {
  const ofJob = { job_id, number };
  switch (asked.verb) {
    case 'pin':
      return answered(api.PATCH('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: id }, header: ifMatch(version) }, body: { pinned: true, reason: asked.reason } }));
    case 'unpin':
      return answered(api.PATCH('/api/v1/checkpoints/{checkpoint_id}', { params: { path: { checkpoint_id: id }, header: ifMatch(version) }, body: { pinned: false, reason: '' } }));
    case 'verify':
      return once((header) => api.POST('/api/v1/jobs/{job_id}/checkpoints/{number}/verify', { params: { path: ofJob, header } }));
    case 'delete':
      return answered(api.DELETE('/api/v1/jobs/{job_id}/checkpoints/{number}', { params: { path: ofJob } }));
  }
}
