import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';
import { useNavigate } from 'react-router-dom';

import { answered, api, once } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useJob } from '../useJob';
import { useSpec } from '../useSpec';
import { wentBackTo, type Checkpoint, type Run } from './lineage';

export type Plan = Schemas['PlanShown'];
export type PlanRequest = Schemas['PlanDraft']['request'];

/** What one answer holds at most: backend/weir_backend/kit/listing.py, ROWS_MAX. */
const MOST = 500;
const PLANS = 200;

const list = (filter: object, sort: [string, 'ASC' | 'DESC'], count: number) => ({ filter: JSON.stringify(filter), sort: JSON.stringify(sort), range: `[0,${count - 1}]` });

export function usePlans(jobId: number) {
  return useQuery({
    queryKey: ['job', jobId, 'plans', 'all'],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/plans', { params: { query: list({ job_id: jobId }, ['id', 'DESC'], PLANS) }, signal })),
  });
}

export interface Found {
  checkpoints: Checkpoint[];
  runs: Run[];
  /** Those that are gone, and that an undo of a plan would return to. */
  lost: Checkpoint[];
}

/** Checkpoints that are kept or that were gone back to, and the runs. */
export function useLineage(jobId: number) {
  return useQuery({
    queryKey: ['job', jobId, 'checkpoints', 'lineage'],
    queryFn: async ({ signal }): Promise<Found> => {
      const [kept, runs, applied] = await Promise.all([
        answered(api.GET('/api/v1/checkpoints', { params: { query: list({ job_id: jobId, kept: true }, ['number', 'DESC'], MOST) }, signal })),
        answered(api.GET('/api/v1/runs', { params: { query: list({ job_id: jobId }, ['number', 'DESC'], MOST) }, signal })),
        answered(api.GET('/api/v1/plans', { params: { query: list({ job_id: jobId, state: 'APPLIED' }, ['id', 'DESC'], PLANS) }, signal })),
      ]);
      const known = new Set(kept.map(({ number }) => number));
      const begun = new Set(runs.map(wentBackTo));
      const missing = [...new Set([...begun, ...applied.map(({ safety_checkpoint }) => safety_checkpoint)])].filter((number) => number !== null && !known.has(number));
      if (missing.length === 0) return { checkpoints: kept, runs, lost: [] };
      const filter = { job_id: jobId, number: missing, state: 'COMPLETED' };
      const gone = await answered(api.GET('/api/v1/checkpoints', { params: { query: list(filter, ['number', 'DESC'], MOST) }, signal }));
      return { checkpoints: [...kept, ...gone.filter(({ number }) => begun.has(number))], runs, lost: gone };
    },
  });
}

/** What the job was stopped with for a plan. Undefined: not known yet; null: nothing is known of it any more. */
export function safetyOf({ safety_checkpoint: safety }: Plan, found: Found | undefined): Checkpoint | null | undefined {
  const known = found ? [...found.checkpoints, ...found.lost] : [];
  // What was found before the plan was applied does not have it yet.
  return known.find(({ number }) => number === safety) ?? (known.some(({ number }) => number > (safety ?? Infinity)) ? null : undefined);
}

/** How many checkpoints the job keeps by itself; null: not known yet. */
export function useRetained(): number | null {
  const { data } = useSpec();
  const checkpointing = data?.body.checkpointing as { retained?: number } | undefined;
  return checkpointing?.retained ?? null;
}

/** Proposes a plan, and goes where it is shown. Nothing is done to the job by that. `toast`: a refusal is told by the way; else by who asks. */
export function usePropose({ toast = true } = {}) {
  const { id } = useJob();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const notify = useNotify();
  return useMutation({
    mutationFn: (request: PlanRequest) =>
      once((header) => api.POST('/api/v1/jobs/{job_id}/plans', { params: { path: { job_id: id }, header }, body: { request, dry_run: false } })),
    onSuccess: (plan) => {
      queries.setQueryData(['job', id, 'plans', plan.id], plan);
      void navigate(`/jobs/${id}/recovery/${plan.id}`);
    },
    onError: (error) => {
      if (toast) notify(error.message, { type: 'error' });
    },
  });
}
