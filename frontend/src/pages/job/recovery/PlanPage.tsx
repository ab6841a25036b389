import { Alert, AlertTitle, Box, Button } from '@mui/material';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';
import { Link, useNavigate, useParams } from 'react-router-dom';

import { unwrap, api, idempotent } from '../../../api/client';
import { useCan } from '../../../auth/permissions';
import { RelativeTime } from '../../../shared/Time';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { StateChip } from '../../../shared/StateChip';
import { useTitle } from '../../../shared/Page';
import { useJob } from '../useJob';
import { ConfirmPlan } from './ConfirmPlan';
import { Undo } from './PlanTable';
import { planTitle } from './planText';
import { PlanPreview } from './PlanPreview';
import type { Plan } from './useRecovery';
import { PlanProgress } from './PlanProgress';

/** The page of a plan, with its preview, confirmation, progress and undo. */
export function PlanPage() {
  const { id } = useJob();
  const { planId } = useParams();
  const number = Number(planId);
  const isValid = Number.isSafeInteger(number) && number > 0;
  const query = useQuery({
    queryKey: ['job', id, 'plans', number],
    enabled: isValid,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/plans/{plan_id}', { params: { path: { plan_id: number } }, signal })),
  });
  return (
    <>
      <Box sx={{ display: 'flex', mb: -0.5 }}><Button size="small" component={Link} to={`/jobs/${id}/recovery`}>← All checkpoints and plans</Button></Box>
      {!isValid ? (
        <EmptyState title="No such plan">The URL contains no valid plan ID.</EmptyState>
      ) : (
        <QueryContent query={query} height={240}>
          {/* The key remounts the component when the plan changes, so that a typed confirmation is not kept for a different plan. */}
          {(plan) => (plan.job_id === id ? <OnePlan key={plan.id} plan={plan} /> : <EmptyState title={`Plan ${number} belongs to another job`} />)}
        </QueryContent>
      )}
    </>
  );
}

function OnePlan({ plan }: { plan: Plan }) {
  const title = `Plan ${plan.id}: ${planTitle(plan)}`;
  useTitle(title);
  const isOpen = plan.state === 'PROPOSED' || plan.state === 'APPROVED';
  return (
    <>
      <Panel
        title={title}
        actions={<><StateChip kind="plan" state={plan.state} /><Box component="span" sx={{ color: 'text.secondary' }}>proposed <RelativeTime at={plan.created_at} /></Box></>}
      >
        {plan.state === 'APPLYING' && <PlanProgress plan={plan} />}
        {plan.state === 'APPLIED' && <Applied plan={plan} />}
        {plan.state === 'FAILED' && <Failed plan={plan} />}
        {plan.state === 'DISCARDED' && <Alert severity="info" variant="outlined">Plan discarded <RelativeTime at={plan.ended_at} />. {plan.problem} The job was not changed.</Alert>}
        {isOpen && <PlanPreview plan={plan} />}
        {isOpen && <ReviewActions plan={plan} />}
      </Panel>
      {!isOpen && <Panel title="Preview"><PlanPreview plan={plan} /></Panel>}
    </>
  );
}

/** Shows the form that confirms or discards a plan. Users without the required permission see a text that names this permission. */
function ReviewActions({ plan }: { plan: Plan }) {
  const job = useJob();
  const may = useCan('operate');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const notify = useNotify();
  const path = { plan_id: plan.id! };
  const cachePlan = (now: Plan): void => void queries.setQueryData(['job', job.id, 'plans', plan.id], now);
  const refetchPlans = (): Promise<void> => queries.invalidateQueries({ queryKey: ['job', job.id, 'plans'] });
  const apply = useMutation({
    mutationFn: async () => {
      // The digest is that of the preview on this page, so the API refuses the approval if the preview has changed.
      const body = { digest: plan.digest };
      if (plan.state === 'PROPOSED') cachePlan(await idempotent((header) => api.POST('/api/v1/plans/{plan_id}/approve', { params: { path, header }, body })));
      return idempotent((header) => api.POST('/api/v1/plans/{plan_id}/apply', { params: { path, header } }));
    },
    onSuccess: (operation) => queries.setQueryData(['job', job.id, 'operations', operation.id], operation),
    onError: (error) => notify(error.message, { type: 'error' }),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      // The button stays busy until the new state of the plan is loaded.
      return refetchPlans();
    },
  });
  const discard = useMutation({
    mutationFn: () => idempotent((header) => api.POST('/api/v1/plans/{plan_id}/discard', { params: { path, header } })),
    onSuccess: () => {
      void refetchPlans();
      void navigate(`/jobs/${job.id}/recovery`);
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  if (!may) return <Box sx={{ mt: 2, color: 'text.secondary' }}>Only users with the permission 'operate' can confirm this plan.</Box>;
  // The key remounts the form when the preview changes, so that a typed confirmation is not kept for a preview that the user has not seen.
  return <ConfirmPlan key={plan.digest} plan={plan} applying={apply.isPending} busy={apply.isPending || discard.isPending} onApply={() => apply.mutate()} onDiscard={() => discard.mutate()} />;
}

function Applied({ plan }: { plan: Plan }) {
  return (
    <>
      <Alert severity="success" variant="outlined" action={<Undo plan={plan} />}>
        <AlertTitle>Plan applied <RelativeTime at={plan.ended_at} /></AlertTitle>
        {plan.safety_checkpoint !== null && `The job stopped with checkpoint ${plan.safety_checkpoint}. An undo restores checkpoint ${plan.safety_checkpoint}.`}
      </Alert>
      <PlanProgress plan={plan} />
    </>
  );
}

function Failed({ plan }: { plan: Plan }) {
  return (
    <>
      <Alert severity="error" variant="outlined"><AlertTitle>Plan failed</AlertTitle>{plan.problem}</Alert>
      <PlanProgress plan={plan} />
    </>
  );
}
