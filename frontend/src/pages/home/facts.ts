import { toMs } from '../../format';
import type { JobSummary } from '../../live/jobsLive';
import { STATES, type StateOf } from '../../look/states';
import type { Job } from '../jobs/useAllJobs';

/** A job as it was asked for, with what the stream has told since. */
export function freshened(jobs: readonly Job[], told: ReadonlyMap<number, JobSummary>): Job[] {
  return jobs.map((job) => {
    const news = told.get(job.id);
    if (!news) return job;
    const last = news.last_checkpoint;
    return {
      ...job,
      desired_state: news.desired_state,
      state: stateNow(job, news),
      // That it is a savepoint is not told; nobody is shown that where this is used.
      last_checkpoint: last ? { is_savepoint: false, ...last } : job.last_checkpoint,
    };
  });
}

/** The stream tells what the run said last; of one that says nothing only the server knows that. */
export function stateNow(job: Pick<Job, 'state'>, news: Pick<JobSummary, 'state'> | undefined): Job['state'] {
  return job.state === 'RECONCILING' ? job.state : (news?.state ?? job.state);
}

/** How many jobs there are in each state, as the list of states has them; states that no job is in are left out. */
export function countsByState(jobs: readonly Job[]): [state: StateOf<'run'>, count: number][] {
  const order = Object.keys(STATES.run) as StateOf<'run'>[];
  return order.map((state) => [state, jobs.filter((job) => job.state === state).length] as [StateOf<'run'>, number]).filter(([, count]) => count > 0);
}

/** Of the jobs that run: which one's last completed checkpoint is the oldest. A job that never completed one counts from its start. */
export function oldestCheckpoint(jobs: readonly Job[]): { job: Job; sinceMs: number; ever: boolean } | null {
  let oldest: { job: Job; sinceMs: number; ever: boolean } | null = null;
  for (const job of jobs) {
    if (job.desired_state !== 'RUNNING' || job.state === 'FINISHED') continue;
    const completed = toMs(job.last_checkpoint?.completed_at);
    const sinceMs = completed ?? toMs(job.run?.created_at);
    if (sinceMs !== null && (oldest === null || sinceMs < oldest.sinceMs)) oldest = { job, sinceMs, ever: completed !== null };
  }
  return oldest;
}

/** Those that need a person first, then those on their way to where they are wanted. */
export function needingSomebody(jobs: readonly Job[]): Job[] {
  const rank = { 'needs a person': 0, working: 1, ok: 2 } as const;
  return jobs.filter(({ health }) => health !== 'ok').sort((a, b) => rank[a.health] - rank[b.health] || a.name.localeCompare(b.name));
}
