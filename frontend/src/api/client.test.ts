import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { unwrap, api, ifMatch, idempotent } from './client';
import { ApiProblem } from './problem';
import { onSessionEnded, setTransport } from './transport';

type Answers = (() => Response | Promise<Response>)[];

function server(...answers: Answers): Request[] {
  const asked: Request[] = [];
  onTestFinished(
    setTransport(async (request) => {
      asked.push(request.clone());
      return answers.shift()!();
    }),
  );
  return asked;
}

const away = (): Response => {
  throw new TypeError('Failed to fetch');
};
const job = (): Promise<unknown> => unwrap(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: 7 } } }));
const suspend = (): Promise<unknown> => idempotent((header) => api.POST('/api/v1/jobs/{job_id}/suspend', { params: { path: { job_id: 7 }, header } }));

describe('the client of the API', () => {
  it('gives the body, and sends the version that was seen', async () => {
    const asked = server(() => Response.json({ id: 7 }, { headers: { ETag: '"4"' } }));
    expect(await job()).toEqual({ id: 7 });
    expect(new URL(asked[0]!.url).pathname).toBe('/api/v1/jobs/7');
    expect(ifMatch(4)).toEqual({ 'If-Match': '"4"' });
  });

  it('throws what the backend says, with its next step', async () => {
    server(() => Response.json({ code: 'changed', detail: 'it has changed since', next_step: 'read it again' }, { status: 412, headers: { 'X-Request-Id': 'abc' } }));
    const problem: unknown = await job().catch((error: unknown) => error);
    expect(problem).toMatchObject({ status: 412, code: 'changed', message: 'It has changed since. Read it again.', requestId: 'abc' });
  });

  it('knows a proxy that reaches nobody, and one that says nothing', async () => {
    server(() => new Response('<html>Bad Gateway', { status: 502 }), () => new Response('teapot', { status: 418 }));
    await expect(job()).rejects.toMatchObject({ unreachable: true });
    await expect(job()).rejects.toMatchObject({ status: 418, code: '418' });
  });

  it('sends a write again with the same key when no answer came', async () => {
    const asked = server(away, away, () => Response.json({ id: 1 }, { status: 202 }));
    expect(await suspend()).toEqual({ id: 1 });
    expect(new Set(asked.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1);
    expect(asked).toHaveLength(3);
  });

  it('does not send a write again that was refused, nor for ever', async () => {
    const refused = server(() => Response.json({ code: 'conflict', detail: 'no' }, { status: 409 }));
    await expect(suspend()).rejects.toBeInstanceOf(ApiProblem);
    expect(refused).toHaveLength(1);
    const tried = server(away, away, away);
    await expect(suspend()).rejects.toMatchObject({ unreachable: true });
    expect(tried).toHaveLength(3);
  });

  it('says that the session is over, but not because a password was wrong', async () => {
    const over = vi.fn();
    onTestFinished(onSessionEnded(over));
    const no = (): Response => Response.json({ code: 'unauthenticated', detail: 'x' }, { status: 401 });
    server(no, no);
    await expect(unwrap(api.POST('/api/v1/session', { body: { name: 'a', password: 'b' } }))).rejects.toMatchObject({ status: 401 });
    expect(over).not.toHaveBeenCalled();
    await expect(job()).rejects.toMatchObject({ status: 401 });
    expect(over).toHaveBeenCalledOnce();
  });
});
