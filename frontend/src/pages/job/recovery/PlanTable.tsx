import { Table, TableBody, TableCell, TableHead, TableRow, Link as MuiLink } from '@mui/material';
import { Link } from 'react-router-dom';

import { useCan } from '../../../auth/permissions';
import { RelativeTime } from '../../../shared/Time';
import { EmptyState } from '../../../shared/DataStates';
import { StateChip } from '../../../shared/StateChip';
import { ActionButton } from '../../../shared/ActionButton';
import { disabledReason, hasAction, REQUEST_PENDING } from '../actions';
import { planTitle } from './planText';
import { usePropose, type Plan } from './useRecovery';

export function PlanTable({ plans }: { plans: readonly Plan[] }) {
  if (plans.length === 0) return <EmptyState title="No plans yet">Roll back, upgrade or rescale the job to create a plan.</EmptyState>;
  return (
    <Table size="small">
      <TableHead>
        <TableRow><TableCell>Plan</TableCell><TableCell>State</TableCell><TableCell>Proposed</TableCell><TableCell>Ended</TableCell><TableCell>Result</TableCell><TableCell align="right" /></TableRow>
      </TableHead>
      <TableBody>
        {plans.map((plan) => (
          <TableRow key={plan.id}>
            <TableCell><MuiLink component={Link} to={`/jobs/${plan.job_id}/recovery/${plan.id}`}>{plan.id}: {planTitle(plan)}</MuiLink></TableCell>
            <TableCell><StateChip kind="plan" state={plan.state} /></TableCell>
            <TableCell><RelativeTime at={plan.created_at} clock /></TableCell>
            <TableCell><RelativeTime at={plan.ended_at} clock /></TableCell>
            <TableCell sx={{ overflowWrap: 'anywhere' }}>{plan.problem ?? (plan.safety_checkpoint !== null ? `safety savepoint: checkpoint ${plan.safety_checkpoint}` : '')}</TableCell>
            <TableCell align="right"><Undo plan={plan} /></TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}

/** A button that proposes to undo an applied plan. */
export function Undo({ plan }: { plan: Plan }) {
  const may = useCan('operate');
  const propose = usePropose();
  if (!may || !hasAction(plan.actions, 'undo')) return null;
  return <ActionButton label="Undo…" ariaLabel={`Undo plan ${plan.id}`} variant="text" disabledReason={propose.isPending ? REQUEST_PENDING : disabledReason(plan.actions, 'undo')} onClick={() => propose.mutate({ kind: 'undo', plan: plan.id! })} />;
}
