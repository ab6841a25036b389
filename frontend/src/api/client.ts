/**
 * A client of the API, typed by its OpenAPI document.
 *
 *     const job = await unwrap(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: 7 } } }));
 *     await idempotent((header) => api.POST('/api/v1/jobs/{job_id}/suspend', { params: { path: { job_id: 7 }, header } }));
 *
 * `unwrap` and `idempotent` return the response body or throw an ApiProblem.
 */
import createClient from 'openapi-fetch';

import { ApiProblem, parseProblem } from './problem';
import type { paths } from './schema';
import { syncServerClock } from './serverClock';
import { absoluteUrl, send, notifySessionEnded } from './transport';

const LOG_IN = '/api/v1/session';

export const api = createClient<paths>({ baseUrl: absoluteUrl('/'), fetch: send });
api.use({
  async onResponse({ request, response }) {
    syncServerClock(response.headers.get('Date'), Date.now());
    if (response.ok) return;
    const problem = await parseProblem(response);
    if (problem.status === 401 && !(request.method === 'POST' && new URL(request.url).pathname === LOG_IN)) notifySessionEnded(problem);
    throw problem;
  },
});

interface ApiResponse<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** Return the body of a response. Throws an ApiProblem. */
export async function unwrap<Data>(call: Promise<ApiResponse<Data>>): Promise<NonNullable<Data>> {
  return (await call).data as NonNullable<Data>;
}

/** Return the `If-Match` header for a change to this version of a resource. */
export function ifMatch(version: number): { 'If-Match': string } {
  return { 'If-Match': `"${version}"` };
}

interface IdempotencyHeader {
  'Idempotency-Key': string;
}

/** Return a new idempotency key. This function does not use crypto.randomUUID, which exists only on https and localhost. */
export function newIdempotencyHeader(): IdempotencyHeader {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return { 'Idempotency-Key': Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}

const ATTEMPTS_MAX = 3;
const RETRY_DELAY_MS = 400;

/** Send a write request that takes effect only once. If there is no response, send the request again with the same idempotency key. */
export async function idempotent<Data>(write: (key: IdempotencyHeader) => Promise<ApiResponse<Data>>): Promise<NonNullable<Data>> {
  const key = newIdempotencyHeader();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await unwrap(write(key));
    } catch (error) {
      if (!(error instanceof ApiProblem && error.unreachable) || attempt === ATTEMPTS_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS * attempt));
    }
  }
}
