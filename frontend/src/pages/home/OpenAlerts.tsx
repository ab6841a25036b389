import { Box, Link } from '@mui/material';
import { useGetList } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';
import { count } from '../../format';
import { RelativeTime } from '../../shared/Time';
import { StateChip } from '../../shared/StateChip';
import type { Job } from '../jobs/useAllJobs';
import { StatCard } from './StatCard';

/** Streams do not contain alerts, so the page refetches alerts as often as workers evaluate alert rules. */
const REFRESH_MS = 15_000;
const SHOWN = 3;

/** The number of firing alerts, and the newest firing alerts. If the request for alerts fails, only this card shows the error. */
export function OpenAlerts({ jobs }: { jobs: readonly Job[] }) {
  const { data, total, error } = useGetList<Schemas['AlertRead']>(
    'alerts',
    { pagination: { page: 1, perPage: SHOWN }, sort: { field: 'since', order: 'DESC' }, filter: { state: 'FIRING' } },
    { refetchInterval: REFRESH_MS },
  );
  return (
    <StatCard label="Firing alerts" value={count(total)}>
      {data === undefined ? (error ? 'Alerts could not be loaded' : null) : data.length === 0 ? (
        <StateChip kind="health" state="healthy" label="no firing alerts" />
      ) : (
        <Box component="ul" sx={{ m: 0, p: 0, listStyle: 'none', display: 'grid', gap: 0.5 }}>
          {data.map(({ id, job_id, rule_name, since, message }) => (
            <Box component="li" key={id} title={message} sx={{ overflowWrap: 'anywhere' }}>
              <Link component={RouterLink} underline="always" to={`/jobs/${job_id}`}>{jobs.find((job) => job.id === job_id)?.name ?? `job ${job_id}`}</Link>
              <Box>{rule_name}, <RelativeTime at={since} /></Box>
            </Box>
          ))}
          <li><Link component={RouterLink} to="/alerts">All alerts</Link></li>
        </Box>
      )}
    </StatCard>
  );
}
