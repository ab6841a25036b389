/** Where the lists and entries of the data provider are in the API. */
export interface Place {
  /** Of the list. What it takes out of the filter goes into the path. */
  list(filter: Record<string, unknown>): { path: string; filter: Record<string, unknown> };
  /** Of one entry; null: there is no such endpoint. */
  one: ((id: number | string) => string) | null;
  /** Does its list take `id` as a filter, and many at once? */
  manyById: boolean;
}

const API = '/api/v1';

function flat(path: string, { one = true } = {}): Place {
  return {
    list: (filter) => ({ path: `${API}/${path}`, filter }),
    one: one ? (id) => `${API}/${path}/${encodeURIComponent(id)}` : null,
    manyById: true,
  };
}

/** A list under something else, which has to be in the filter: `{ job_id: 7 }`. */
function under(parent: string, key: string, path: string): Place {
  return {
    list: ({ [key]: id, ...filter }) => {
      if (typeof id !== 'number' && typeof id !== 'string') throw new Error(`a list of ${path} needs ${key} in its filter`);
      return { path: `${API}/${parent}/${encodeURIComponent(id)}/${path}`, filter };
    },
    one: null,
    manyById: false,
  };
}

export const RESOURCES: Record<string, Place> = {
  jobs: flat('jobs'),
  runs: flat('runs'),
  checkpoints: flat('checkpoints'),
  events: flat('events', { one: false }),
  operations: flat('operations'),
  plans: flat('plans'),
  artifacts: flat('artifacts'),
  specs: under('jobs', 'job_id', 'specs'),
  failures: under('jobs', 'job_id', 'failures'),
  users: flat('users'),
  tokens: flat('tokens'),
  audit: flat('audit', { one: false }),
  'alert-rules': flat('alert-rules'),
  alerts: flat('alerts'),
  webhooks: flat('webhooks'),
  deliveries: under('webhooks', 'webhook_id', 'deliveries'),
};

export function placeOf(resource: string): Place {
  const found = RESOURCES[resource];
  if (!found) throw new Error(`there is no resource ${resource}: see data/resources.ts`);
  return found;
}
