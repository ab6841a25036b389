import { Link } from '@mui/material';
import { useReference } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';

type Entry = Schemas['AuditEntryRead'];

export const resourceLabel = (resource: string, id: Entry['resource_id']): string => (id === null ? resource : `${resource} ${id}`);

/** The resources that have their own page, with the paths of their lists. */
const PAGES: Record<string, string> = { job: 'jobs', user: 'users', 'alert-rule': 'alert-rules', webhook: 'webhooks' };

/** The resource of an audit entry, with a link if the resource has a page. */
export function ResourceLink({ entry }: { entry: Entry }) {
  const { resource, resource_id, action } = entry;
  const name = resourceLabel(resource, resource_id);
  if (resource_id === null || action === 'delete') return name;
  const page = PAGES[resource];
  if (page) return <TextLink path={`/${page}/${resource_id}`} name={name} />;
  if (resource === 'plan') return <JobResourceLink reference="plans" id={resource_id} name={name} path={`recovery/${resource_id}`} />;
  if (resource === 'checkpoint') return <JobResourceLink reference="checkpoints" id={resource_id} name={name} path="checkpoints" />;
  if (resource === 'token') return <TextLink path={tokensPath(entry)} name={name} />;
  return name;
}

function TextLink({ path, name }: { path: string; name: string }) {
  return <Link component={RouterLink} to={path} onClick={(event) => event.stopPropagation()}>{name}</Link>;
}

interface OfJobProps {
  reference: string;
  id: number;
  name: string;
  /** The path of a resource below the page of its job. */
  path: string;
}

/**
 * A link to a page below a job's page. The path contains the job id. The audit entry does not contain the job id, so the resource is fetched. A
 * single request fetches the resources of all rows.
 */
function JobResourceLink({ reference, id, name, path }: OfJobProps) {
  const { referenceRecord } = useReference<{ id: number; job_id: number }>({ reference, id });
  return referenceRecord ? <TextLink path={`/jobs/${referenceRecord.job_id}/${path}`} name={name} /> : name;
}

/** Return the path of the list of all users' tokens, filtered by the name of the entry's token. */
function tokensPath({ before, after }: Entry): string {
  const tokenName = after?.name ?? before?.name;
  const filter = { everybody: true, ...(typeof tokenName === 'string' ? { name: tokenName } : {}) };
  return `/tokens?${new URLSearchParams({ filter: JSON.stringify(filter) })}`;
}
