import { Box, CircularProgress } from '@mui/material';
import CheckCircleOutline from '@mui/icons-material/CheckCircleOutline';
import ErrorOutline from '@mui/icons-material/ErrorOutline';
import RadioButtonUnchecked from '@mui/icons-material/RadioButtonUnchecked';
import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { absolute, duration, toMs } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { Answered } from '../../../shared/Answered';
import { HIDDEN } from '../../../shared/hidden';
import { State } from '../../../shared/State';
import { useNow } from '../../../shared/useNow';
import { useJob } from '../useJob';
import { stagesOf, type Stage } from './planWords';
import type { Plan } from './useRecovery';

/** The steps of its operation as they are done: the job's stream says when there is another. */
export function Watch({ plan }: { plan: Plan }) {
  const { id } = useJob();
  const operationId = plan.operation_id;
  const query = useQuery({
    queryKey: ['job', id, 'operations', operationId],
    enabled: operationId !== null,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/operations/{operation_id}', { params: { path: { operation_id: operationId! } }, signal })),
  });
  const run = useJobLive((live) => live.run);
  const now = useNow();
  if (operationId === null) return null;
  return (
    <Answered query={query}>
      {(operation) => {
        const stages = stagesOf(plan, operation);
        return (
          <>
            <Box component="ol" aria-label="Steps" sx={{ listStyle: 'none', m: 0, mt: 1.5, p: 0, display: 'flex', flexDirection: 'column', gap: 1 }}>
              {stages.map((stage, at) => {
                const begun = toMs(stage.at);
                const next = toMs(stages[at + 1]?.at ?? operation.ended_at);
                const took = begun === null ? null : Math.max(0, (next ?? Math.max(now, begun)) - begun);
                return (
                  <Box key={at} component="li" sx={{ display: 'flex', alignItems: 'center', gap: 1.25, color: stage.is === 'waiting' ? 'text.secondary' : 'text.primary' }}>
                    <Mark is={stage.is} />
                    <Box sx={{ fontWeight: stage.is === 'now' ? 600 : undefined }}>{stage.text}</Box>
                    {took !== null && <Box component="time" dateTime={stage.at!} title={absolute(begun)} sx={{ color: 'text.secondary' }}>{duration(took)}</Box>}
                  </Box>
                );
              })}
            </Box>
            {/* What has changed is told; not the list itself, in which how long a step takes is another each second. */}
            <Box role="status">
              <Box component="span" sx={HIDDEN}>{standing(stages)}</Box>
              {plan.state === 'APPLYING' && run && (
                <Box sx={{ mt: 1.5, display: 'flex', gap: 1, alignItems: 'center', color: 'text.secondary' }}>Run {run.number} is <State of="run" is={run.state} /></Box>
              )}
            </Box>
          </>
        );
      }}
    </Answered>
  );
}

const SAID: Record<Stage['is'], string> = { done: 'Done', now: 'Being done', failed: 'Failed', waiting: 'To come' };

/** How far it has come, in a sentence. */
function standing(stages: readonly Stage[]): string {
  const last = stages.findLast(({ is }) => is !== 'waiting');
  return last ? `${SAID[last.is]}: ${last.text}.` : '';
}

function Mark({ is }: { is: Stage['is'] }) {
  const title = SAID[is];
  switch (is) {
    case 'done':
      return <CheckCircleOutline color="success" fontSize="small" titleAccess={title} />;
    case 'failed':
      return <ErrorOutline color="error" fontSize="small" titleAccess={title} />;
    case 'now':
      return <CircularProgress size={18} thickness={5} aria-label={title} sx={{ mx: '1px' }} />;
    case 'waiting':
      return <RadioButtonUnchecked color="disabled" fontSize="small" titleAccess={title} />;
  }
}
