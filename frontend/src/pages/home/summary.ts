import { toMs } from '../../format';
import type { LiveJobStatus } from '../../live/jobsLive';
import { STATES, type StateOf } from '../../theme/states';
import type { Job } from '../jobs/useAllJobs';

/** Update fetched jobs with newer data from the stream. */
export function mergeLive(jobs: readonly Job[], told: ReadonlyMap<number, LiveJobStatus>): Job[] {
  return jobs.map((job) => {
    const news = told.get(job.id);
    if (!news) return job;
    const last = news.last_checkpoint;
    return {
      ...job,
      desired_state: news.desired_state,
      state: currentState(job, news),
      // The stream does not contain `is_savepoint`. Any value is correct, because the home page does not show this field.
      last_checkpoint: last ? { is_savepoint: false, ...last } : job.last_checkpoint,
    };
  });
}

/** Return the newest state of a job. Only the API reports the state RECONCILING, because the stream contains only states from drivers. */
export function currentState(job: Pick<Job, 'state'>, news: Pick<LiveJobStatus, 'state'> | undefined): Job['state'] {
  return job.state === 'RECONCILING' ? job.state : (news?.state ?? job.state);
}

/** Return the number of jobs in each state, in the order of the states. States without jobs are omitted. */
export function countsByState(jobs: readonly Job[]): [state: StateOf<'run'>, count: number][] {
  const order = Object.keys(STATES.run) as StateOf<'run'>[];
  return order.map((state) => [state, jobs.filter((job) => job.state === state).length] as [StateOf<'run'>, number]).filter(([, count]) => count > 0);
}

/**
 * Among the jobs whose desired state is RUNNING, return the job whose last completed checkpoint is the oldest. If a job has no completed
 * checkpoint, the start of its run is used instead.
 */
export function stalestCheckpoint(jobs: readonly Job[]): { job: Job; sinceMs: number; ever: boolean } | null {
  let oldest: { job: Job; sinceMs: number; ever: boolean } | null = null;
  for (const job of jobs) {
    if (job.desired_state !== 'RUNNING' || job.state === 'FINISHED') continue;
    const completed = toMs(job.last_checkpoint?.completed_at);
    const sinceMs = completed ?? toMs(job.run?.created_at);
    if (sinceMs !== null && (oldest === null || sinceMs < oldest.sinceMs)) oldest = { job, sinceMs, ever: completed !== null };
  }
  return oldest;
}

/** Return the unhealthy jobs. Jobs that need attention come first, followed by degraded jobs. */
export function unhealthyJobs(jobs: readonly Job[]): Job[] {
  const rank = { needs_attention: 0, degraded: 1, healthy: 2 } as const;
  return jobs.filter(({ health }) => health !== 'healthy').sort((a, b) => rank[a.health] - rank[b.health] || a.name.localeCompare(b.name));
}
