import type { DataProvider, GetListParams, Identifier, RaRecord } from 'react-admin';

import { newIdempotencyHeader } from '../api/client';
import { parseProblem } from '../api/problem';
import { absoluteUrl, send, notifySessionEnded } from '../api/transport';
import { parseTotal } from './contentRange';
import { endpointsOf } from './resources';

/** Provides lists and records of the API to react-admin. All other code uses api/client.ts. */
export const dataProvider: DataProvider = {
  supportAbortSignal: true,

  async getList(resource, params) {
    return list(resource, params);
  },
  async getManyReference(resource, { target, id, filter, ...params }) {
    return list(resource, { ...params, filter: { ...filter, [target]: id } });
  },
  async getOne(resource, { id, signal }) {
    return { data: await requestJson('GET', entryPath(resource, id), { signal }) };
  },
  async getMany(resource, { ids, signal }) {
    if (!endpointsOf(resource).manyById) return { data: await Promise.all(ids.map((id) => requestJson('GET', entryPath(resource, id), { signal }))) };
    const { data } = await list(resource, { pagination: { page: 1, perPage: Math.max(1, ids.length) }, filter: { id: ids.map(Number) }, signal });
    return { data };
  },
  async create(resource, { data }) {
    return { data: await requestJson('POST', endpointsOf(resource).list({}).path, { body: data, headers: { ...newIdempotencyHeader() } }) };
  },
  async update(resource, { id, data, previousData }) {
    return { data: await requestJson('PATCH', entryPath(resource, id), { body: changes(previousData ?? {}, data), headers: ifMatchHeader(previousData) }) };
  },
  updateMany: (resource) => rejectBulk(resource),
  async delete(resource, { id, previousData }) {
    await requestJson('DELETE', entryPath(resource, id), { headers: ifMatchHeader(previousData) });
    return { data: (previousData ?? { id }) as never };
  },
  deleteMany: (resource) => rejectBulk(resource),
};

/** Reject a bulk change. React-admin requires bulk methods, but the UI does not use them, because each change needs the version of its record. */
function rejectBulk(resource: string): Promise<never> {
  return Promise.reject(new Error(`Bulk changes of ${resource} are not supported. Change or delete one record at a time`));
}

function entryPath(resource: string, id: Identifier): string {
  const { entry } = endpointsOf(resource);
  if (!entry) throw new Error(`${resource} have no endpoint for a single record. Use the list endpoint`);
  return entry(id);
}

/** Return the `If-Match` header with the record version that the user saw. */
function ifMatchHeader(record: Partial<RaRecord> | undefined): Record<string, string> {
  return typeof record?.version === 'number' ? { 'If-Match': `"${record.version}"` } : {};
}

/** Return the changed fields. The API does not change fields that a request omits. */
export function changes(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

type ListParams = Partial<Pick<GetListParams, 'pagination' | 'sort' | 'filter' | 'signal'>>;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- react-admin's methods are generic, and the OpenAPI document defines the records
async function list(resource: string, params: ListParams): Promise<{ data: any[]; total: number }> {
  const { path, filter } = endpointsOf(resource).list((params.filter ?? {}) as Record<string, unknown>);
  const { page, perPage } = params.pagination ?? { page: 1, perPage: 25 };
  const query = new URLSearchParams({ range: JSON.stringify([(page - 1) * perPage, page * perPage - 1]), filter: JSON.stringify(filter) });
  if (params.sort?.field) query.set('sort', JSON.stringify([params.sort.field, params.sort.order]));
  const response = await request('GET', `${path}?${query}`, { signal: params.signal });
  const data = (await response.json()) as RaRecord[];
  return { data, total: parseTotal(response.headers.get('Content-Range')) };
}

interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- react-admin's methods are generic, and the OpenAPI document defines the records
async function requestJson(method: string, path: string, asked: RequestOptions): Promise<any> {
  const response = await request(method, path, asked);
  return response.status === 204 ? null : response.json();
}

async function request(method: string, path: string, { body, headers = {}, signal }: RequestOptions): Promise<Response> {
  const request = new Request(absoluteUrl(path), {
    method,
    headers: { Accept: 'application/json', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  });
  const response = await send(request);
  if (response.ok) return response;
  const problem = await parseProblem(response);
  if (problem.status === 401) notifySessionEnded(problem);
  throw problem;
}
