import type { DataProvider, GetListParams, Identifier, RaRecord } from 'react-admin';

import { newKey } from '../api/client';
import { problemOf } from '../api/problem';
import { address, send, sessionIsOver } from '../api/transport';
import { totalOf } from './contentRange';
import { placeOf } from './resources';

/** Lists and entries of the API for react-admin. What is no list goes through api/client.ts. */
export const dataProvider: DataProvider = {
  supportAbortSignal: true,

  async getList(resource, params) {
    return list(resource, params);
  },
  async getManyReference(resource, { target, id, filter, ...params }) {
    return list(resource, { ...params, filter: { ...filter, [target]: id } });
  },
  async getOne(resource, { id, signal }) {
    return { data: await call('GET', oneOf(resource, id), { signal }) };
  },
  async getMany(resource, { ids, signal }) {
    if (!placeOf(resource).manyById) return { data: await Promise.all(ids.map((id) => call('GET', oneOf(resource, id), { signal }))) };
    const { data } = await list(resource, { pagination: { page: 1, perPage: Math.max(1, ids.length) }, filter: { id: ids.map(Number) }, signal });
    return { data };
  },
  async create(resource, { data }) {
    return { data: await call('POST', placeOf(resource).list({}).path, { body: data, headers: { ...newKey() } }) };
  },
  async update(resource, { id, data, previousData }) {
    return { data: await call('PATCH', oneOf(resource, id), { body: changes(previousData ?? {}, data), headers: seen(previousData) }) };
  },
  updateMany: (resource) => refused(resource),
  async delete(resource, { id, previousData }) {
    await call('DELETE', oneOf(resource, id), { headers: seen(previousData) });
    return { data: (previousData ?? { id }) as never };
  },
  deleteMany: (resource) => refused(resource),
};

/** React-admin wants these two, and nothing here uses them: of many at once nobody has seen the versions that are changed. */
function refused(resource: string): Promise<never> {
  return Promise.reject(new Error(`${resource} are changed and deleted one by one`));
}

function oneOf(resource: string, id: Identifier): string {
  const { one } = placeOf(resource);
  if (!one) throw new Error(`entries of ${resource} are read by their list only`);
  return one(id);
}

/** Who changes something has seen a version of it. */
function seen(record: Partial<RaRecord> | undefined): Record<string, string> {
  return typeof record?.version === 'number' ? { 'If-Match': `"${record.version}"` } : {};
}

/** What is not sent stays as it is, so only what was changed is sent. */
export function changes(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

type ListParams = Partial<Pick<GetListParams, 'pagination' | 'sort' | 'filter' | 'signal'>>;

// Generic in what react-admin expects: the API's document is the judge of what comes, tests of what is asked.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function list(resource: string, params: ListParams): Promise<{ data: any[]; total: number }> {
  const { path, filter } = placeOf(resource).list((params.filter ?? {}) as Record<string, unknown>);
  const { page, perPage } = params.pagination ?? { page: 1, perPage: 25 };
  const query = new URLSearchParams({ range: JSON.stringify([(page - 1) * perPage, page * perPage - 1]), filter: JSON.stringify(filter) });
  if (params.sort?.field) query.set('sort', JSON.stringify([params.sort.field, params.sort.order]));
  const response = await ask('GET', `${path}?${query}`, { signal: params.signal });
  const data = (await response.json()) as RaRecord[];
  return { data, total: totalOf(response.headers.get('Content-Range')) };
}

interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function call(method: string, path: string, asked: Asked): Promise<any> {
  const response = await ask(method, path, asked);
  return response.status === 204 ? null : response.json();
}

async function ask(method: string, path: string, { body, headers = {}, signal }: Asked): Promise<Response> {
  const request = new Request(address(path), {
    method,
    headers: { Accept: 'application/json', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  });
  const response = await send(request);
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) sessionIsOver(problem);
  throw problem;
}
