import { Alert, Box, Button, Checkbox, FormControlLabel, TextField } from '@mui/material';
import { usePermissions } from 'react-admin';
import { useState } from 'react';

import type { Permission } from '../../../api/types';
import { useHandOver } from '../../../shared/useHandOver';
import { useNow } from '../../../shared/useNow';
import { useJob } from '../useJob';
import { goesBack, whyNotApply, whyNotWorking } from './allowed';
import { verbOf } from './planWords';
import { OBSTACLE } from './Preview';
import type { Plan } from './useRecovery';

interface Props {
  plan: Plan;
  /** It is asked for to be done. */
  applying: boolean;
  /** That, or to be put aside. */
  busy: boolean;
  onApply(): void;
  onWithdraw(): void;
}

/** Who goes back types the job's name; who would show readers something twice says that he knows. */
export function Confirm({ plan, applying, busy, onApply, onWithdraw }: Props) {
  const job = useJob();
  const nowMs = useNow();
  const { permissions = [] } = usePermissions<Permission[]>();
  const [typed, setTyped] = useState('');
  const [knows, setKnows] = useState(false);
  const ref = useHandOver();
  // What the job is busy with meanwhile is this.
  const obstacle = applying ? null : whyNotApply(plan, { job, permissions, nowMs });
  const { duplicates, inspection } = plan.preview;
  const types = goesBack(plan);
  const agreed = (!types || typed.trim() === job.name) && (duplicates.length === 0 || knows);
  // That a worker is still looking, and what it has found, is said by the preview itself.
  const said = inspection === null || obstacle === whyNotWorking(plan);
  const shown = said ? null : obstacle;
  const why = shown ? 'why-not-apply' : obstacle && inspection ? OBSTACLE : undefined;
  return (
    <Box
      ref={ref}
      component="form"
      sx={{ mt: 2, pt: 2, borderTop: 1, borderColor: 'divider', display: 'flex', flexDirection: 'column', gap: 1.25 }}
      onSubmit={(event) => {
        event.preventDefault();
        if (agreed && obstacle === null && !busy) onApply();
      }}
    >
      {shown && <Alert id="why-not-apply" severity="warning" variant="outlined">{shown}</Alert>}
      {obstacle === null && duplicates.length > 0 && (
        <FormControlLabel
          control={<Checkbox size="small" checked={knows} onChange={(_, checked) => setKnows(checked)} />}
          label={`I know that readers of ${duplicates.join(', ')} will see records twice`}
        />
      )}
      {obstacle === null && types && (
        <TextField
          label={`Type ${job.name} to confirm`}
          value={typed}
          onChange={({ target: { value } }) => setTyped(value)}
          autoComplete="off"
          sx={{ maxWidth: 420 }}
        />
      )}
      <Box sx={{ display: 'flex', gap: 1 }}>
        {/* Disabled, it would lose the keyboard to nowhere. */}
        <Button
          type="submit"
          variant="contained"
          color={types ? 'error' : 'primary'}
          disabled={!agreed || obstacle !== null}
          aria-disabled={busy || undefined}
          aria-describedby={why}
          sx={{ '&[aria-disabled]': { opacity: 0.6, cursor: 'progress' } }}
        >
          {verbOf(plan)}
        </Button>
        <Button disabled={busy} onClick={onWithdraw}>Leave it</Button>
      </Box>
    </Box>
  );
}
