import { Link } from '@mui/material';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';

type Entry = Schemas['AuditEntryRead'];

/** The resources that have their own page, with the paths of their lists. */
const PAGES: Record<string, string> = { user: 'users', 'alert-rule': 'alert-rules', webhook: 'webhooks', secret: 'secrets' };
/** The resources of a job, with the paths of their pages below the page of the job. */
const JOB_PAGES: Record<string, (id: number) => string> = { job: () => '', spec: () => '/versions', checkpoint: () => '/checkpoints', plan: (id) => `/recovery/${id}` };

/** The resource of an audit entry, with a link if the resource has a page. */
export function ResourceLink({ entry }: { entry: Entry }) {
  const path = pathOf(entry);
  if (path === null) return entry.resource_text;
  return <Link component={RouterLink} to={path} onClick={(event) => event.stopPropagation()}>{entry.resource_text}</Link>;
}

function pathOf(entry: Entry): string | null {
  const { resource, resource_id, job_id, action } = entry;
  if (resource_id === null || action === 'delete') return null;
  const page = JOB_PAGES[resource];
  if (page) return job_id === null ? null : `/jobs/${job_id}${page(resource_id)}`;
  if (resource === 'token') return tokensPath(entry);
  return resource in PAGES ? `/${PAGES[resource]}/${resource_id}` : null;
}

/** Return the path of the list of all users' tokens, filtered by the name of the entry's token. */
function tokensPath({ before, after }: Entry): string {
  const tokenName = after?.name ?? before?.name;
  const filter = { everybody: true, ...(typeof tokenName === 'string' ? { name: tokenName } : {}) };
  return `/tokens?${new URLSearchParams({ filter: JSON.stringify(filter) })}`;
}
