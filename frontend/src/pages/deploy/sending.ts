import { answered, api, ifMatch, once } from '../../api/client';
import { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';
import { bodyOf, type Draft } from './draft';

const TYPE = 'application/octet-stream';

/** Its digest. The same file again is the same one. */
export async function upload(file: File): Promise<string> {
  const content = await file.arrayBuffer();
  const { digest } = await answered(
    api.POST('/api/v1/artifacts', {
      params: { query: { name: file.name } },
      // The document of the API has no bytes: it calls them a text.
      body: content as unknown as string,
      bodySerializer: (body: unknown) => body as ArrayBuffer,
      headers: { 'Content-Type': TYPE },
    }),
  );
  return digest;
}

export interface Before {
  job: Schemas['JobShown'];
  body: Record<string, unknown>;
  /** Number of the newest version there was. */
  newest: number;
}

/** Somebody has made another version since the form was opened. */
export class Overtaken extends Error {
  constructor(readonly newest: number) {
    super(`Version ${newest} was made meanwhile: see what it changes. Sent again, this one comes after it.`);
  }
}

const artifactOf = (before: Before | null): string => String(before?.body.artifact ?? '');

/** A job that waits to be started. `instead`: one that did not compile and has never run; it makes room. */
export async function deploy(draft: Draft, file: File | null, instead: Before | null): Promise<Schemas['JobShown']> {
  const digest = file ? await upload(file) : artifactOf(instead);
  if (instead) await makeRoom(instead);
  const body = { name: draft.name.trim(), description: draft.description, comment: draft.comment, spec: bodyOf(draft, digest, instead?.body), start: false, labels: instead?.job.labels ?? {} };
  return once((header) => api.POST('/api/v1/jobs', { params: { header }, body }));
}

async function makeRoom(before: Before): Promise<void> {
  const path = { job_id: before.job.id };
  try {
    await asSeen(before, (version) => answered(api.DELETE('/api/v1/jobs/{job_id}', { params: { path, header: ifMatch(version) } })));
  } catch (error) {
    // It is gone: what was to take its place was refused, and is sent again.
    if (!(error instanceof ApiProblem && error.status === 404)) throw error;
  }
}

export async function newestVersion(jobId: number, signal?: AbortSignal): Promise<number> {
  const query = { sort: '["number","DESC"]', range: '[0,0]' };
  const [newest] = await answered(api.GET('/api/v1/jobs/{job_id}/specs', { params: { path: { job_id: jobId }, query }, ...(signal ? { signal } : {}) }));
  return newest?.number ?? 0;
}

/**
 * With the version of the job that was seen, or, if it has another one by now, with that: that it was started, stopped or gone back with says
 * nothing against what was typed. Raises Overtaken.
 */
async function asSeen<Answer>({ job, newest }: Before, send: (version: number) => Promise<Answer>): Promise<Answer> {
  try {
    return await send(job.version);
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 412)) throw error;
    const now = await answered(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: job.id } } }));
    const latest = await newestVersion(job.id);
    if (latest !== newest) throw new Overtaken(latest);
    return send(now.version);
  }
}

export async function newVersion(draft: Draft, file: File | null, before: Before): Promise<Schemas['SpecShown']> {
  const { job } = before;
  const digest = file ? await upload(file) : artifactOf(before);
  const body = { spec: bodyOf(draft, digest, before.body), comment: draft.comment };
  return asSeen(before, (version) => once((header) => api.POST('/api/v1/jobs/{job_id}/specs', { params: { path: { job_id: job.id }, header: { ...header, ...ifMatch(version) } }, body })));
}
