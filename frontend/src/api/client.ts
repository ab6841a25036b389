/**
 * The API, typed by its OpenAPI document.
 *
 *     const job = await answered(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: 7 } } }));
 *     await once((key) => api.POST('/api/v1/jobs/{job_id}/suspend', { params: { path: { job_id: 7 }, header: key } }));
 *
 * Both give the body of the answer, or throw an ApiProblem.
 */
import createClient from 'openapi-fetch';

import { ApiProblem, problemOf } from './problem';
import type { paths } from './schema';
import { heardDate } from './serverClock';
import { address, send, sessionIsOver } from './transport';

const LOG_IN = '/api/v1/session';

export const api = createClient<paths>({ baseUrl: address('/'), fetch: send });
api.use({
  async onResponse({ request, response }) {
    heardDate(response.headers.get('Date'), Date.now());
    if (response.ok) return;
    const problem = await problemOf(response);
    if (problem.status === 401 && !(request.method === 'POST' && new URL(request.url).pathname === LOG_IN)) sessionIsOver(problem);
    throw problem;
  },
});

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The body of an answer. */
export async function answered<Data>(call: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  return (await call).data as NonNullable<Data>;
}

/** `If-Match` for what was shown as this version. */
export function ifMatch(version: number): { 'If-Match': string } {
  return { 'If-Match': `"${version}"` };
}

export interface OnceKey {
  'Idempotency-Key': string;
}

/** Not crypto.randomUUID: that is there on https and localhost only. */
export function newKey(): OnceKey {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return { 'Idempotency-Key': Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}

const TRIES = 3;
const PAUSE_MS = 400;

/** A write that has its effect once: if no answer comes it is sent again, with the same key. */
export async function once<Data>(write: (key: OnceKey) => Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  const key = newKey();
  for (let tried = 1; ; tried += 1) {
    try {
      return await answered(write(key));
    } catch (error) {
      if (!(error instanceof ApiProblem && error.unreachable) || tried === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tried));
    }
  }
}
