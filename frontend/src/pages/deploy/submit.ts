import { unwrap, api, ifMatch, idempotent } from '../../api/client';
import { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';
import { specFromDraft, type Draft } from './draft';

const TYPE = 'application/octet-stream';

/** Upload a file and return its digest. */
export async function upload(file: File): Promise<string> {
  const content = await file.arrayBuffer();
  const { digest } = await unwrap(
    api.POST('/api/v1/artifacts', {
      params: { query: { name: file.name } },
      // The OpenAPI document describes the binary body as a string.
      body: content as unknown as string,
      bodySerializer: (body: unknown) => body as ArrayBuffer,
      headers: { 'Content-Type': TYPE },
    }),
  );
  return digest;
}

export interface BaseVersion {
  job: Schemas['JobRead'];
  body: Record<string, unknown>;
  /** The number of the version that was the newest when the form was opened. */
  newest: number;
}

/** Thrown if another version was created after the user opened the form. */
export class NewerVersionError extends Error {
  constructor(readonly newest: number) {
    super(`Version ${newest} was created after you opened this form. Review the changes in version ${newest}, then submit again to create the next version.`);
  }
}

const artifactOf = (before: BaseVersion | null): string => String(before?.body.artifact ?? '');

/** Create a job without starting it. First delete the job `instead`, which did not compile and has never run. */
export async function deploy(draft: Draft, file: File | null, instead: BaseVersion | null): Promise<Schemas['JobRead']> {
  const digest = file ? await upload(file) : artifactOf(instead);
  if (instead) await deleteReplacedJob(instead);
  const body = { name: draft.name.trim(), description: draft.description, comment: draft.comment, spec: specFromDraft(draft, digest, instead?.body), start: false, labels: instead?.job.labels ?? {} };
  return idempotent((header) => api.POST('/api/v1/jobs', { params: { header }, body }));
}

async function deleteReplacedJob(before: BaseVersion): Promise<void> {
  const path = { job_id: before.job.id };
  try {
    await retryIfStale(before, (version) => unwrap(api.DELETE('/api/v1/jobs/{job_id}', { params: { path, header: ifMatch(version) } })));
  } catch (error) {
    // The job is already deleted, because a previous attempt failed after this step.
    if (!(error instanceof ApiProblem && error.status === 404)) throw error;
  }
}

export async function latestVersion(jobId: number, signal?: AbortSignal): Promise<number> {
  const query = { sort: '["number","DESC"]', range: '[0,0]' };
  const [newest] = await unwrap(api.GET('/api/v1/jobs/{job_id}/specs', { params: { path: { job_id: jobId }, query }, ...(signal ? { signal } : {}) }));
  return newest?.number ?? 0;
}

/**
 * Send a change with the job version that the user saw. If this job version is stale, retry once with the current job version. A start or a stop also
 * changes the job version, but does not conflict with the user's change. Throws NewerVersionError if the newest spec version has changed.
 */
async function retryIfStale<Answer>({ job, newest }: BaseVersion, send: (version: number) => Promise<Answer>): Promise<Answer> {
  try {
    return await send(job.version);
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 412)) throw error;
    const now = await unwrap(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: job.id } } }));
    const latest = await latestVersion(job.id);
    if (latest !== newest) throw new NewerVersionError(latest);
    return send(now.version);
  }
}

export async function newVersion(draft: Draft, file: File | null, before: BaseVersion): Promise<Schemas['SpecRead']> {
  const { job } = before;
  const digest = file ? await upload(file) : artifactOf(before);
  const body = { spec: specFromDraft(draft, digest, before.body), comment: draft.comment };
  return retryIfStale(before, (version) => idempotent((header) => api.POST('/api/v1/jobs/{job_id}/specs', { params: { path: { job_id: job.id }, header: { ...header, ...ifMatch(version) } }, body })));
}
