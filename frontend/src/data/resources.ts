/** The endpoints of the data provider's resources. */
interface ResourceEndpoints {
  /** Return the path of a list, and the filter without the fields that are part of this path. */
  list(filter: Record<string, unknown>): { path: string; filter: Record<string, unknown> };
  /** Return the path of one record. Null if the API has no endpoint for a single record. */
  entry: ((id: number | string) => string) | null;
  /** Whether the list can be filtered by several values of `id`. */
  manyById: boolean;
}

const API = '/api/v1';

function topLevel(path: string, { one = true } = {}): ResourceEndpoints {
  return {
    list: (filter) => ({ path: `${API}/${path}`, filter }),
    entry: one ? (id) => `${API}/${path}/${encodeURIComponent(id)}` : null,
    manyById: true,
  };
}

/** Return the endpoints of a nested list. The filter contains the id of the parent resource, such as `{ job_id: 7 }`. */
function nested(parent: string, key: string, path: string): ResourceEndpoints {
  return {
    list: ({ [key]: id, ...filter }) => {
      if (typeof id !== 'number' && typeof id !== 'string') throw new Error(`A list of ${path} requires ${key} in its filter`);
      return { path: `${API}/${parent}/${encodeURIComponent(id)}/${path}`, filter };
    },
    entry: null,
    manyById: false,
  };
}

export const RESOURCES: Record<string, ResourceEndpoints> = {
  jobs: topLevel('jobs'),
  runs: topLevel('runs'),
  checkpoints: topLevel('checkpoints'),
  events: topLevel('events', { one: false }),
  operations: topLevel('operations'),
  plans: topLevel('plans'),
  artifacts: topLevel('artifacts'),
  specs: nested('jobs', 'job_id', 'specs'),
  failures: nested('jobs', 'job_id', 'failures'),
  users: topLevel('users'),
  tokens: topLevel('tokens'),
  secrets: topLevel('secrets'),
  audit: topLevel('audit', { one: false }),
  'alert-rules': topLevel('alert-rules'),
  alerts: topLevel('alerts'),
  webhooks: topLevel('webhooks'),
  deliveries: nested('webhooks', 'webhook_id', 'deliveries'),
};

export function endpointsOf(resource: string): ResourceEndpoints {
  const endpoints = RESOURCES[resource];
  if (!endpoints) throw new Error(`Unknown resource ${resource}. Add the resource to data/resources.ts`);
  return endpoints;
}
