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
}

const artifactOf = (before: Before | null): string => String(before?.body.artifact ?? '');

/** A job that waits to be started. `instead`: one that did not compile and has never run; it makes room. */
export async function deploy(draft: Draft, file: File | null, instead: Before | null): Promise<Schemas['JobShown']> {
  const digest = file ? await upload(file) : artifactOf(instead);
  if (instead) await makeRoom(instead.job);
  const body = { name: draft.name.trim(), description: draft.description, comment: draft.comment, spec: bodyOf(draft, digest, instead?.body), start: false, labels: instead?.job.labels ?? {} };
  return once((header) => api.POST('/api/v1/jobs', { params: { header }, body }));
}

async function makeRoom(job: Schemas['JobShown']): Promise<void> {
  try {
    await answered(api.DELETE('/api/v1/jobs/{job_id}', { params: { path: { job_id: job.id }, header: ifMatch(job.version) } }));
  } catch (error) {
    // It is gone: what was to take its place was refused, and is sent again.
    if (!(error instanceof ApiProblem && error.status === 404)) throw error;
  }
}

export async function newVersion(draft: Draft, file: File | null, before: Before): Promise<Schemas['SpecShown']> {
  const { job } = before;
  const digest = file ? await upload(file) : artifactOf(before);
  const body = { spec: bodyOf(draft, digest, before.body), comment: draft.comment };
  return once((header) => api.POST('/api/v1/jobs/{job_id}/specs', { params: { path: { job_id: job.id }, header: { ...header, ...ifMatch(job.version) } }, body }));
}
