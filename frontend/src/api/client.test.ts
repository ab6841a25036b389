import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { unwrap, api, ifMatch, idempotent } from './client';
import { ApiProblem } from './problem';
import { onSessionEnded, setTransport } from './transport';

type Responder = () => Response | Promise<Response>;

function server(...responders: Responder[]): Request[] {
  const requests: Request[] = [];
  onTestFinished(
    setTransport(async (request) => {
      requests.push(request.clone());
      return responders.shift()!();
    }),
  );
  return requests;
}

const noResponse = (): Response => {
  throw new TypeError('Failed to fetch');
};
const job = (): Promise<unknown> => unwrap(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: 7 } } }));
const suspend = (): Promise<unknown> => idempotent((header) => api.POST('/api/v1/jobs/{job_id}/suspend', { params: { path: { job_id: 7 }, header } }));

describe('the API client', () => {
  it('returns the body of a response', async () => {
    const requests = server(() => Response.json({ id: 7 }, { headers: { ETag: '"4"' } }));
    expect(await job()).toEqual({ id: 7 });
    expect(new URL(requests[0]!.url).pathname).toBe('/api/v1/jobs/7');
    expect(ifMatch(4)).toEqual({ 'If-Match': '"4"' });
  });

  it('throws the problem details of an error response, including the next step', async () => {
    server(() => Response.json({ code: 'changed', detail: 'the job has changed', next_step: 'read it again' }, { status: 412, headers: { 'X-Request-Id': 'abc' } }));
    const problem: unknown = await job().catch((error: unknown) => error);
    expect(problem).toMatchObject({ status: 412, code: 'changed', message: 'The job has changed. Read it again.', requestId: 'abc' });
  });

  it('throws an error if a proxy returns an error response', async () => {
    server(() => new Response('<html>Bad Gateway', { status: 502 }), () => new Response('teapot', { status: 418 }));
    await expect(job()).rejects.toMatchObject({ unreachable: true });
    await expect(job()).rejects.toMatchObject({ status: 418, code: '418' });
  });

  it('retries a write request that got no response, with the same idempotency key', async () => {
    const requests = server(noResponse, noResponse, () => Response.json({ id: 1 }, { status: 202 }));
    expect(await suspend()).toEqual({ id: 1 });
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1);
    expect(requests).toHaveLength(3);
  });

  it('does not retry a refused write request', async () => {
    const refused = server(() => Response.json({ code: 'conflict', detail: 'no' }, { status: 409 }));
    await expect(suspend()).rejects.toBeInstanceOf(ApiProblem);
    expect(refused).toHaveLength(1);
  });

  it('throws an error if three attempts of a write request get no response', async () => {
    const attempts = server(noResponse, noResponse, noResponse);
    await expect(suspend()).rejects.toMatchObject({ unreachable: true });
    expect(attempts).toHaveLength(3);
  });

  it('reports the end of the session after a 401 response, but not after a log-in with a wrong password', async () => {
    const onEnd = vi.fn();
    onTestFinished(onSessionEnded(onEnd));
    const unauthenticated = (): Response => Response.json({ code: 'unauthenticated', detail: 'x' }, { status: 401 });
    server(unauthenticated, unauthenticated);
    await expect(unwrap(api.POST('/api/v1/session', { body: { name: 'a', password: 'b' } }))).rejects.toMatchObject({ status: 401 });
    expect(onEnd).not.toHaveBeenCalled();
    await expect(job()).rejects.toMatchObject({ status: 401 });
    expect(onEnd).toHaveBeenCalledOnce();
  });
});
