import { Alert, Box, Button, Checkbox, FormControlLabel, TextField } from '@mui/material';
import { useState } from 'react';

import { useFocusHandoff } from '../../../shared/useFocusHandoff';
import { disabledReason } from '../actions';
import { useJob } from '../useJob';
import { applyLabel, inspectionProblem, revokesOutput } from './planText';
import { PROBLEM_ID } from './PlanPreview';
import type { Plan } from './useRecovery';

interface Props {
  plan: Plan;
  /** Whether the request to apply the plan is pending. */
  applying: boolean;
  /** Whether a request to apply or discard the plan is pending. */
  busy: boolean;
  onApply(): void;
  onDiscard(): void;
}

/**
 * Confirms or discards a plan. If the plan revokes output, the user must type the job name. If readers see records twice, the user must select a
 * checkbox.
 */
export function ConfirmPlan({ plan, applying, busy, onApply, onDiscard }: Props) {
  const job = useJob();
  const [typed, setTyped] = useState('');
  const [accepted, setAccepted] = useState(false);
  const ref = useFocusHandoff();
  const reason = applying ? null : disabledReason(plan.actions, plan.state === 'APPROVED' ? 'apply' : 'approve');
  const { sinks_with_duplicates: duplicates, inspection } = plan.preview;
  const needsName = revokesOutput(plan);
  const confirmed = (!needsName || typed.trim() === job.name) && (duplicates.length === 0 || accepted);
  // This form omits a reason that the preview already shows: a pending inspection, or a problem that the inspection has found.
  const problem = inspectionProblem(plan);
  const isInPreview = inspection === null || (problem !== null && reason !== null && reason.includes(problem));
  const shown = isInPreview ? null : reason;
  const describedBy = shown ? 'why-not-apply' : reason && inspection ? PROBLEM_ID : undefined;
  return (
    <Box
      ref={ref}
      component="form"
      sx={{ mt: 2, pt: 2, borderTop: 1, borderColor: 'divider', display: 'flex', flexDirection: 'column', gap: 1.25 }}
      onSubmit={(event) => {
        event.preventDefault();
        if (confirmed && reason === null && !busy) onApply();
      }}
    >
      {shown && <Alert id="why-not-apply" severity="warning" variant="outlined">{shown}</Alert>}
      {reason === null && duplicates.length > 0 && (
        <FormControlLabel
          control={<Checkbox size="small" checked={accepted} onChange={(_, checked) => setAccepted(checked)} />}
          label={`I accept duplicate records for readers of ${duplicates.join(', ')}`}
        />
      )}
      {reason === null && needsName && (
        <TextField
          label={`Type ${job.name} to confirm`}
          value={typed}
          onChange={({ target: { value } }) => setTyped(value)}
          autoComplete="off"
          sx={{ maxWidth: 420 }}
        />
      )}
      <Box sx={{ display: 'flex', gap: 1 }}>
        {/* While a request is pending, the button has only aria-disabled, because a disabled button would lose the focus. */}
        <Button
          type="submit"
          variant="contained"
          color={needsName ? 'error' : 'primary'}
          disabled={!confirmed || reason !== null}
          aria-disabled={busy || undefined}
          aria-describedby={describedBy}
          sx={{ '&[aria-disabled]': { opacity: 0.6, cursor: 'progress' } }}
        >
          {applyLabel(plan)}
        </Button>
        <Button disabled={busy} onClick={onDiscard}>Discard plan</Button>
      </Box>
    </Box>
  );
}
