import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';
import { useNavigate } from 'react-router-dom';

import { unwrap, api, idempotent } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { ROWS_MAX } from '../../../data/contentRange';
import { useJob } from '../useJob';
import { rolledBackTo, type Checkpoint, type Run } from './lineage';

export type Plan = Schemas['PlanRead'];
type PlanRequest = Schemas['PlanCreate']['request'];

const PLANS_MAX = 200;

const list = (filter: object, sort: [string, 'ASC' | 'DESC'], count: number) => ({ filter: JSON.stringify(filter), sort: JSON.stringify(sort), range: `[0,${count - 1}]` });

export function usePlans(jobId: number) {
  return useQuery({
    queryKey: ['job', jobId, 'plans', 'all'],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/plans', { params: { query: list({ job_id: jobId }, ['id', 'DESC'], PLANS_MAX) }, signal })),
  });
}

export function useCoverage(jobId: number) {
  return useQuery({
    queryKey: ['job', jobId, 'checkpoints', 'coverage'],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/jobs/{job_id}/coverage', { params: { path: { job_id: jobId } }, signal })),
  });
}

export interface LineageRows {
  checkpoints: Checkpoint[];
  runs: Run[];
}

/** Query the job's runs, its stored checkpoints, and deleted checkpoints to which runs have rolled back. */
export function useLineage(jobId: number) {
  return useQuery({
    queryKey: ['job', jobId, 'checkpoints', 'lineage'],
    queryFn: async ({ signal }): Promise<LineageRows> => {
      const [stored, runs] = await Promise.all([
        unwrap(api.GET('/api/v1/checkpoints', { params: { query: list({ job_id: jobId, kept: true }, ['number', 'DESC'], ROWS_MAX) }, signal })),
        unwrap(api.GET('/api/v1/runs', { params: { query: list({ job_id: jobId }, ['number', 'DESC'], ROWS_MAX) }, signal })),
      ]);
      const known = new Set(stored.map(({ number }) => number));
      const missing = [...new Set(runs.map(rolledBackTo))].filter((number) => number !== null && !known.has(number));
      if (missing.length === 0) return { checkpoints: stored, runs };
      const filter = { job_id: jobId, number: missing, state: 'COMPLETED' };
      const deleted = await unwrap(api.GET('/api/v1/checkpoints', { params: { query: list(filter, ['number', 'DESC'], ROWS_MAX) }, signal }));
      return { checkpoints: [...stored, ...deleted], runs };
    },
  });
}

/**
 * Propose a plan and open its page. A plan changes nothing until it is applied. `toast`: whether to show errors as notifications. If `toast` is
 * false, the caller shows the errors.
 */
export function usePropose({ toast = true } = {}) {
  const { id } = useJob();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const notify = useNotify();
  return useMutation({
    mutationFn: (request: PlanRequest) =>
      idempotent((header) => api.POST('/api/v1/jobs/{job_id}/plans', { params: { path: { job_id: id }, header }, body: { request, dry_run: false } })),
    onSuccess: (plan) => {
      queries.setQueryData(['job', id, 'plans', plan.id], plan);
      void navigate(`/jobs/${id}/recovery/${plan.id}`);
    },
    onError: (error) => {
      if (toast) notify(error.message, { type: 'error' });
    },
  });
}
