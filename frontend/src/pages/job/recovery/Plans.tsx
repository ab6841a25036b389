import { Table, TableBody, TableCell, TableHead, TableRow, Link as MuiLink } from '@mui/material';
import { Link } from 'react-router-dom';

import { useCan } from '../../../auth/useCan';
import { Ago } from '../../../shared/Ago';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { Verb } from '../../../shared/Verb';
import { useJob } from '../useJob';
import { whyNotUndo } from './allowed';
import { titleOf } from './planWords';
import { safetyOf, usePropose, type Found, type Plan } from './useRecovery';

export function Plans({ plans, found }: { plans: readonly Plan[]; found: Found | undefined }) {
  if (plans.length === 0) return <Empty title="Nothing was planned yet">Choose a checkpoint above to see what going back to it would do. Upgrades and rescaling are plans, too.</Empty>;
  return (
    <Table size="small">
      <TableHead>
        <TableRow><TableCell>Plan</TableCell><TableCell>State</TableCell><TableCell>Proposed</TableCell><TableCell>Ended</TableCell><TableCell>What became of it</TableCell><TableCell align="right" /></TableRow>
      </TableHead>
      <TableBody>
        {plans.map((plan) => (
          <TableRow key={plan.id}>
            <TableCell><MuiLink component={Link} to={`/jobs/${plan.job_id}/recovery/${plan.id}`}>{plan.id}: {titleOf(plan)}</MuiLink></TableCell>
            <TableCell><State of="plan" is={plan.state} /></TableCell>
            <TableCell><Ago at={plan.created_at} clock /></TableCell>
            <TableCell><Ago at={plan.ended_at} clock /></TableCell>
            <TableCell sx={{ overflowWrap: 'anywhere' }}>{plan.problem ?? (plan.safety_checkpoint !== null ? `the job was stopped with checkpoint ${plan.safety_checkpoint}` : '')}</TableCell>
            <TableCell align="right"><Undo plan={plan} plans={plans} found={found} /></TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}

/** Offered for what was applied; where it cannot be, the reason stands beside it. */
export function Undo({ plan, plans, found }: { plan: Plan; plans: readonly Plan[]; found: Found | undefined }) {
  const job = useJob();
  const may = useCan('operate');
  const propose = usePropose();
  if (!may || plan.state !== 'APPLIED') return null;
  const why = whyNotUndo(plan, plans, safetyOf(plan, found), job);
  return <Verb label="Undo…" name={`Undo plan ${plan.id}`} variant="text" why={propose.isPending ? 'It is being asked for.' : why} onClick={() => propose.mutate({ kind: 'undo', plan: plan.id! })} />;
}
