import type { components } from './schema';

/** What the API tells, by the names of the OpenAPI document: `Schemas['JobShown']`. */
export type Schemas = components['schemas'];

export type Permission = Schemas['Permission'];
