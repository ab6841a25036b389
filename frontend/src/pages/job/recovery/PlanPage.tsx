import { Alert, AlertTitle, Box, Button } from '@mui/material';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';
import { Link, useNavigate, useParams } from 'react-router-dom';

import { answered, api, once } from '../../../api/client';
import { useCan } from '../../../auth/useCan';
import { Ago } from '../../../shared/Ago';
import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useTitle } from '../../../shared/useTitle';
import { useJob } from '../useJob';
import { Confirm } from './Confirm';
import { isUndone } from './kept';
import { Undo } from './Plans';
import { titleOf } from './planWords';
import { Preview } from './Preview';
import { safetyOf, useLineage, usePlans, type Plan } from './useRecovery';
import { Watch } from './Watch';

/** One plan: what it would do, agreeing to it, watching it, and the way back. */
export function PlanPage() {
  const { id } = useJob();
  const { planId } = useParams();
  const number = Number(planId);
  const known = Number.isSafeInteger(number) && number > 0;
  const query = useQuery({
    queryKey: ['job', id, 'plans', number],
    enabled: known,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/plans/{plan_id}', { params: { path: { plan_id: number } }, signal })),
  });
  return (
    <>
      <Box sx={{ display: 'flex', mb: -0.5 }}><Button size="small" component={Link} to={`/jobs/${id}/recovery`}>← All checkpoints and plans</Button></Box>
      {!known ? (
        <Empty title="There is no such plan">Its number is not in the address.</Empty>
      ) : (
        <Answered query={query} height={240}>
          {/* What was typed and ticked was said of one plan, and of no other. */}
          {(plan) => (plan.job_id === id ? <OnePlan key={plan.id} plan={plan} /> : <Empty title={`Plan ${number} is not of this job`} />)}
        </Answered>
      )}
    </>
  );
}

function OnePlan({ plan }: { plan: Plan }) {
  const title = `Plan ${plan.id}: ${titleOf(plan)}`;
  useTitle(title);
  const waits = plan.state === 'PROPOSED' || plan.state === 'APPROVED';
  return (
    <>
      <Panel
        title={title}
        actions={<><State of="plan" is={plan.state} /><Box component="span" sx={{ color: 'text.secondary' }}>made <Ago at={plan.created_at} /></Box></>}
      >
        {plan.state === 'APPLYING' && <Watch plan={plan} />}
        {plan.state === 'APPLIED' && <Applied plan={plan} />}
        {plan.state === 'FAILED' && <Failed plan={plan} />}
        {plan.state === 'WITHDRAWN' && <Alert severity="info" variant="outlined">It was put aside <Ago at={plan.ended_at} />. Nothing was done to the job.</Alert>}
        {waits && <Preview plan={plan} />}
        {waits && <Agree plan={plan} />}
      </Panel>
      {!waits && <Panel title="Preview"><Preview plan={plan} /></Panel>}
    </>
  );
}

/** For who may operate: confirm, or put it aside. */
function Agree({ plan }: { plan: Plan }) {
  const job = useJob();
  const may = useCan('operate');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const notify = useNotify();
  const path = { plan_id: plan.id! };
  const keep = (now: Plan): void => void queries.setQueryData(['job', job.id, 'plans', plan.id], now);
  const stale = (): Promise<void> => queries.invalidateQueries({ queryKey: ['job', job.id, 'plans'] });
  const apply = useMutation({
    mutationFn: async () => {
      if (plan.state === 'PROPOSED') keep(await once((header) => api.POST('/api/v1/plans/{plan_id}/approve', { params: { path, header } })));
      return once((header) => api.POST('/api/v1/plans/{plan_id}/apply', { params: { path, header } }));
    },
    onSuccess: (operation) => queries.setQueryData(['job', job.id, 'operations', operation.id], operation),
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      // Until it is known what has become of the plan it is not to be confirmed once more.
      return stale();
    },
  });
  const withdraw = useMutation({
    mutationFn: () => once((header) => api.POST('/api/v1/plans/{plan_id}/withdraw', { params: { path, header } })),
    onSuccess: () => {
      void stale();
      void navigate(`/jobs/${job.id}/recovery`);
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  if (!may) return <Box sx={{ mt: 2, color: 'text.secondary' }}>It waits for somebody who may operate jobs to confirm it.</Box>;
  return <Confirm plan={plan} applying={apply.isPending} busy={apply.isPending || withdraw.isPending} onApply={() => apply.mutate()} onWithdraw={() => withdraw.mutate()} />;
}

function Applied({ plan }: { plan: Plan }) {
  const { id } = useJob();
  const plans = usePlans(id).data ?? [];
  const found = useLineage(id).data;
  const safety = safetyOf(plan, found);
  const isGone = safety === null || (safety !== undefined && safety.discarded_at !== null);
  return (
    <>
      <Alert severity="success" variant="outlined" action={<Undo plan={plan} plans={plans} found={found} />}>
        <AlertTitle>It was applied <Ago at={plan.ended_at} /></AlertTitle>
        {plan.safety_checkpoint !== null && (isUndone(plan, plans)
          ? `It was undone since: the job returned to checkpoint ${plan.safety_checkpoint}.`
          : `The job was stopped with checkpoint ${plan.safety_checkpoint} before: ${isGone ? 'its files are gone, so this cannot be undone any more' : 'undoing the plan returns there'}.`)}
      </Alert>
      <Watch plan={plan} />
    </>
  );
}

function Failed({ plan }: { plan: Plan }) {
  return (
    <>
      <Alert severity="error" variant="outlined"><AlertTitle>It could not be carried out</AlertTitle>{plan.problem}</Alert>
      <Watch plan={plan} />
    </>
  );
}
