import { Box, CircularProgress } from '@mui/material';
import CheckCircleOutline from '@mui/icons-material/CheckCircleOutline';
import ErrorOutline from '@mui/icons-material/ErrorOutline';
import RadioButtonUnchecked from '@mui/icons-material/RadioButtonUnchecked';
import { useQuery } from '@tanstack/react-query';

import { unwrap, api } from '../../../api/client';
import { absolute, duration, toMs } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { QueryContent } from '../../../shared/DataStates';
import { VISUALLY_HIDDEN } from '../../../shared/visuallyHidden';
import { StateChip } from '../../../shared/StateChip';
import { useNow } from '../../../shared/useNow';
import { useJob } from '../useJob';
import { planStages, type Stage } from './planText';
import type { Plan } from './useRecovery';

/** Shows the steps of the operation that applies a plan. The job's stream updates the steps. */
export function PlanProgress({ plan }: { plan: Plan }) {
  const { id } = useJob();
  const operationId = plan.operation_id;
  const query = useQuery({
    queryKey: ['job', id, 'operations', operationId],
    enabled: operationId !== null,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/operations/{operation_id}', { params: { path: { operation_id: operationId! } }, signal })),
  });
  const run = useJobLive((live) => live.run);
  const now = useNow();
  if (operationId === null) return null;
  return (
    <QueryContent query={query}>
      {(operation) => {
        const stages = planStages(plan, operation);
        return (
          <>
            <Box component="ol" aria-label="Steps" sx={{ listStyle: 'none', m: 0, mt: 1.5, p: 0, display: 'flex', flexDirection: 'column', gap: 1 }}>
              {stages.map((stage, at) => {
                const started = toMs(stage.at);
                const next = toMs(stages[at + 1]?.at ?? operation.ended_at);
                const took = started === null ? null : Math.max(0, (next ?? Math.max(now, started)) - started);
                return (
                  <Box key={at} component="li" sx={{ display: 'flex', alignItems: 'center', gap: 1.25, color: stage.status === 'pending' ? 'text.secondary' : 'text.primary' }}>
                    <StatusIcon status={stage.status} />
                    <Box sx={{ fontWeight: stage.status === 'running' ? 600 : undefined }}>{stage.text}</Box>
                    {took !== null && <Box component="time" dateTime={stage.at!} title={absolute(started)} sx={{ color: 'text.secondary' }}>{duration(took)}</Box>}
                  </Box>
                );
              })}
            </Box>
            {/* Screen readers announce only changes of the status, and not the durations, which change every second. */}
            <Box role="status">
              <Box component="span" sx={VISUALLY_HIDDEN}>{currentStep(stages)}</Box>
              {plan.state === 'APPLYING' && run && (
                <Box sx={{ mt: 1.5, display: 'flex', gap: 1, alignItems: 'center', color: 'text.secondary' }}>Run {run.number} is <StateChip kind="run" state={run.state} /></Box>
              )}
            </Box>
          </>
        );
      }}
    </QueryContent>
  );
}

const STATUS_TEXT: Record<Stage['status'], string> = { done: 'Done', running: 'Running', failed: 'Failed', pending: 'Pending' };

/** Describe the current step. */
function currentStep(stages: readonly Stage[]): string {
  const last = stages.findLast(({ status }) => status !== 'pending');
  return last ? `${STATUS_TEXT[last.status]}: ${last.text}.` : '';
}

function StatusIcon({ status }: { status: Stage['status'] }) {
  const title = STATUS_TEXT[status];
  switch (status) {
    case 'done':
      return <CheckCircleOutline color="success" fontSize="small" titleAccess={title} />;
    case 'failed':
      return <ErrorOutline color="error" fontSize="small" titleAccess={title} />;
    case 'running':
      return <CircularProgress size={18} thickness={5} aria-label={title} sx={{ mx: '1px' }} />;
    case 'pending':
      return <RadioButtonUnchecked color="disabled" fontSize="small" titleAccess={title} />;
  }
}
