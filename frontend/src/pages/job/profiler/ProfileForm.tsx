import { Box, MenuItem, TextField, Typography } from '@mui/material';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNotify } from 'react-admin';

import { api, idempotent } from '../../../api/client';
import { ActionButton } from '../../../shared/ActionButton';
import { Panel } from '../../../shared/Panel';
import { disabledReason, REQUEST_PENDING } from '../actions';
import { useJob } from '../useJob';

const DURATIONS_S = [5, 10, 20, 30];

interface Props {
  slots: number;
  /** The slot that is selected when the page opens. */
  initialSlot: number;
  onRequested(operationId: number): void;
}

/** Requests a profile of a slot. */
export function ProfileForm({ slots, initialSlot, onRequested }: Props) {
  const job = useJob();
  const notify = useNotify();
  const queries = useQueryClient();
  const [slot, setSlot] = useState(initialSlot);
  const [seconds, setSeconds] = useState(10);
  const { mutate, isPending } = useMutation({
    mutationFn: () => idempotent((header) => api.POST('/api/v1/jobs/{job_id}/profiles', { params: { path: { job_id: job.id }, header }, body: { slot, seconds } })),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['job', job.id, 'operations', 'profiles'] });
      onRequested(id);
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  const indexes = Array.from({ length: Math.max(slots, slot + 1) }, (_, index) => index);
  return (
    <Panel title="Profile a slot">
      <Typography variant="body2" color="text.secondary" sx={{ mb: 1.5 }}>
        A profile shows which Python functions take the time of a slot. Slot N runs the subtasks with the index N. The job continues.
      </Typography>
      <Box sx={{ display: 'flex', gap: 1.5, alignItems: 'center', flexWrap: 'wrap' }}>
        <TextField select label="Slot" value={slot} onChange={({ target }) => setSlot(Number(target.value))} sx={{ minWidth: 100 }}>
          {indexes.map((index) => <MenuItem key={index} value={index}>{index}</MenuItem>)}
        </TextField>
        <TextField select label="Duration" value={seconds} onChange={({ target }) => setSeconds(Number(target.value))} sx={{ minWidth: 100 }}>
          {DURATIONS_S.map((one) => <MenuItem key={one} value={one}>{one} s</MenuItem>)}
        </TextField>
        <ActionButton label="Take profile" variant="contained" disabledReason={isPending ? REQUEST_PENDING : disabledReason(job.actions, 'profile')} onClick={() => mutate()} />
      </Box>
    </Panel>
  );
}
