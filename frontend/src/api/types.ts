import type { components } from './schema';

/** The schemas of the OpenAPI document by name: `Schemas['JobRead']`. */
export type Schemas = components['schemas'];

export type Permission = Schemas['Permission'];
