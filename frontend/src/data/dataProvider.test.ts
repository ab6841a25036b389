import { describe, expect, it, onTestFinished } from 'vitest';

import { ApiProblem } from '../api/problem';
import { setTransport } from '../api/transport';
import { parseTotal } from './contentRange';
import { changes, dataProvider } from './dataProvider';

/** Records all requests and responds to them with `answer`. */
function server(answer: (request: Request) => Response): Request[] {
  const asked: Request[] = [];
  onTestFinished(
    setTransport(async (request) => {
      asked.push(request.clone());
      return answer(request);
    }),
  );
  return asked;
}

const rows = (): Response => Response.json([{ id: 26 }], { headers: { 'Content-Range': 'x 25-25/319' } });
const query = ({ url }: Request): Record<string, unknown> =>
  Object.fromEntries([...new URL(url).searchParams].map(([name, value]) => [name, JSON.parse(value) as unknown]));
const path = ({ url }: Request): string => new URL(url).pathname;

describe('the data provider', () => {
  it('sends range, sort and filter of a list as JSON', async () => {
    const asked = server(rows);
    const found = await dataProvider.getList('jobs', { pagination: { page: 2, perPage: 25 }, sort: { field: 'name', order: 'DESC' }, filter: { q: 'a' } });
    expect(found).toEqual({ data: [{ id: 26 }], total: 319 });
    expect(query(asked[0]!)).toEqual({ range: [25, 49], sort: ['name', 'DESC'], filter: { q: 'a' } });
    expect(path(asked[0]!)).toBe('/api/v1/jobs');
  });

  it('puts the id of the parent resource into the path of a nested list', async () => {
    const asked = server(rows);
    await dataProvider.getManyReference('failures', { target: 'job_id', id: 7, pagination: { page: 1, perPage: 10 }, sort: { field: 'id', order: 'ASC' }, filter: { kind: 'x' } });
    expect(path(asked[0]!)).toBe('/api/v1/jobs/7/failures');
    expect(query(asked[0]!).filter).toEqual({ kind: 'x' });
    await expect(dataProvider.getList('specs', { filter: {} })).rejects.toThrow('A list of specs requires job_id in its filter');
  });

  it('fetches several records in one request', async () => {
    const asked = server(rows);
    await dataProvider.getMany('checkpoints', { ids: [3, 4] });
    expect(query(asked[0]!)).toEqual({ range: [0, 1], filter: { id: [3, 4] } });
  });

  it('sends only the changed fields of a record, and the version that the user saw', async () => {
    const asked = server(() => Response.json({ id: 2 }));
    await dataProvider.update('users', { id: 2, data: { role: 'admin', disabled: false, version: 5 }, previousData: { id: 2, role: 'viewer', disabled: false, version: 5 } });
    expect(asked[0]!.method).toBe('PATCH');
    expect(asked[0]!.headers.get('If-Match')).toBe('"5"');
    expect(await asked[0]!.json()).toEqual({ role: 'admin' });
  });

  it('sends an idempotency key to create a record, and the version to delete a record', async () => {
    const asked = server(({ method }) => (method === 'DELETE' ? new Response(null, { status: 204 }) : Response.json({ id: 9 }, { status: 201 })));
    expect(await dataProvider.create('webhooks', { data: { name: 'ops' } })).toEqual({ data: { id: 9 } });
    expect(asked[0]!.headers.get('Idempotency-Key')).toMatch(/^[0-9a-f]{32}$/);
    await dataProvider.delete('webhooks', { id: 9, previousData: { id: 9, version: 2 } });
    expect([asked[1]!.method, path(asked[1]!), asked[1]!.headers.get('If-Match')]).toEqual(['DELETE', '/api/v1/webhooks/9', '"2"']);
  });

  it('rejects bulk changes, because they cannot send the version of each record', async () => {
    const asked = server(rows);
    await expect(dataProvider.updateMany('users', { ids: [1], data: {} })).rejects.toThrow('one record at a time');
    await expect(dataProvider.deleteMany('users', { ids: [1] })).rejects.toThrow('one record at a time');
    expect(asked).toEqual([]);
  });

  it('throws the problem details of the API, with the errors by form field', async () => {
    server(() => Response.json({ code: 'invalid', detail: 'name: too long', next_step: '', errors: [{ where: 'body.name', what: 'too long' }, { where: 'query.x', what: 'odd' }] }, { status: 422 }));
    const refused: unknown = await dataProvider.create('users', { data: {} }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiProblem);
    expect(refused).toMatchObject({ status: 422, message: 'Name: too long.', body: { errors: { name: 'too long' } } });
  });

  it('finds the changed fields of a record', () => {
    expect(changes({ a: 1, b: { c: [1] }, d: null }, { a: 1, b: { c: [2] }, d: null, e: 'x' })).toEqual({ b: { c: [2] }, e: 'x' });
  });

  it('throws an error if the response has no Content-Range header', () => {
    expect([parseTotal('jobs 0-24/319'), parseTotal('jobs */0')]).toEqual([319, 0]);
    expect(() => parseTotal(null)).toThrow('Configure the proxy to pass this header through');
  });
});
