import { Box, Link } from '@mui/material';
import { useGetList } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../api/types';
import { count } from '../../format';
import { Ago } from '../../shared/Ago';
import { State } from '../../shared/State';
import type { Job } from '../jobs/useAllJobs';
import { Figure } from './Figure';

/** As often as workers hold rules against jobs; no stream tells of it. */
const REFRESH_MS = 15_000;
const SHOWN = 3;

/** How many alerts fire, the newest of them by name. That it cannot be asked is said here, and hides nothing else. */
export function OpenAlerts({ jobs }: { jobs: readonly Job[] }) {
  const { data, total, error } = useGetList<Schemas['AlertShown']>(
    'alerts',
    { pagination: { page: 1, perPage: SHOWN }, sort: { field: 'since', order: 'DESC' }, filter: { state: 'FIRING' } },
    { refetchInterval: REFRESH_MS },
  );
  return (
    <Figure label="Open alerts" value={count(total)}>
      {data === undefined ? (error ? 'It is not known: they could not be asked for' : null) : data.length === 0 ? (
        <State of="health" is="ok" label="no rule holds" />
      ) : (
        <Box component="ul" sx={{ m: 0, p: 0, listStyle: 'none', display: 'grid', gap: 0.5 }}>
          {data.map(({ id, job_id, rule_name, since, message }) => (
            <Box component="li" key={id} title={message} sx={{ overflowWrap: 'anywhere' }}>
              <Link component={RouterLink} underline="always" to={`/jobs/${job_id}`}>{jobs.find((job) => job.id === job_id)?.name ?? `job ${job_id}`}</Link>
              <Box>{rule_name}, <Ago at={since} /></Box>
            </Box>
          ))}
          <li><Link component={RouterLink} to="/alerts">All alerts</Link></li>
        </Box>
      )}
    </Figure>
  );
}
