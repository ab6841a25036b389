import { Link } from '@mui/material';
import { useReference } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';

type Entry = Schemas['AuditEntryView'];

export const nameOf = (resource: string, id: Entry['resource_id']): string => (id === null ? resource : `${resource} ${id}`);

/** Where things have a page of their own. */
const PAGES: Record<string, string> = { job: 'jobs', user: 'users', 'alert-rule': 'alert-rules', webhook: 'webhooks' };

/** What an entry is about, with the way there if it has an address. */
export function Thing({ entry }: { entry: Entry }) {
  const { resource, resource_id, action } = entry;
  const name = nameOf(resource, resource_id);
  if (resource_id === null || action === 'delete') return name;
  const page = PAGES[resource];
  if (page) return <To path={`/${page}/${resource_id}`} name={name} />;
  if (resource === 'plan') return <OfJob reference="plans" id={resource_id} name={name} path={`recovery/${resource_id}`} />;
  if (resource === 'checkpoint') return <OfJob reference="checkpoints" id={resource_id} name={name} path="checkpoints" />;
  if (resource === 'token') return <To path={tokens(entry)} name={name} />;
  return name;
}

function To({ path, name }: { path: string; name: string }) {
  return <Link component={RouterLink} to={path} onClick={(event) => event.stopPropagation()}>{name}</Link>;
}

interface OfJobProps {
  reference: string;
  id: number;
  name: string;
  /** Under the address of its job. */
  path: string;
}

/** It is shown on the page of its job, which the entry does not name. One request asks for all of a page of the list. */
function OfJob({ reference, id, name, path }: OfJobProps) {
  const { referenceRecord } = useReference<{ id: number; job_id: number }>({ reference, id });
  return referenceRecord ? <To path={`/jobs/${referenceRecord.job_id}/${path}`} name={name} /> : name;
}

/** The list of everybody's, with those that are called so. */
function tokens({ before, after }: Entry): string {
  const called = after?.name ?? before?.name;
  const filter = { everybody: true, ...(typeof called === 'string' ? { name: called } : {}) };
  return `/tokens?${new URLSearchParams({ filter: JSON.stringify(filter) })}`;
}
