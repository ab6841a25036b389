import { Box, Link, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useMemo } from 'react';
import { Link as RouterLink } from 'react-router-dom';

import { count, duration } from '../../format';
import { useJobsLive } from '../../live/jobsLive';
import { RelativeTime } from '../../shared/Time';
import { EmptyState, QueryContent } from '../../shared/DataStates';
import { ConnectionBanner, ConnectionStatus } from '../../shared/ConnectionStatus';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { StateChip } from '../../shared/StateChip';
import { useNow } from '../../shared/useNow';
import { NoJobsYet } from '../jobs/NoJobsYet';
import { useAllJobs, type Job } from '../jobs/useAllJobs';
import { countsByState, mergeLive, unhealthyJobs, stalestCheckpoint } from './summary';
import { StatCard } from './StatCard';
import { OpenAlerts } from './OpenAlerts';

/** The path of the list of jobs that need attention. */
const NEEDS_ATTENTION_PATH = `/jobs?${new URLSearchParams({ filter: JSON.stringify({ needs_attention: true }) })}`;

export function Home() {
  const live = useJobsLive();
  const query = useAllJobs();
  return (
    <Page title="Home" titleAddon={<ConnectionStatus connection={live.connection} />}>
      <ConnectionBanner connection={live.connection} />
      <QueryContent query={query} height={320}>
        {({ jobs, total }) => (jobs.length === 0 ? <Panel><NoJobsYet /></Panel> : <Summary jobs={mergeLive(jobs, live.jobs)} total={total} />)}
      </QueryContent>
    </Page>
  );
}

function Summary({ jobs, total }: { jobs: Job[]; total: number }) {
  const counts = useMemo(() => countsByState(jobs), [jobs]);
  const needing = useMemo(() => unhealthyJobs(jobs), [jobs]);
  const waiting = needing.filter(({ health }) => health === 'needs_attention').length;
  return (
    <>
      <Box sx={{ display: 'grid', gap: 2, gridTemplateColumns: { xs: '1fr', sm: 'repeat(2, minmax(0, 1fr))', lg: 'repeat(4, minmax(0, 1fr))' } }}>
        <StatCard label="Jobs" value={count(total)}>
          <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 0.75 }}>
            {counts.map(([state, many]) => (
              <span key={state}><StateChip kind="run" state={state} label={`${count(many)} ${state.toLowerCase()}`} /></span>
            ))}
          </Box>
        </StatCard>
        <StatCard label="Needs attention" value={count(waiting)}>
          {waiting === 0 ? <StateChip kind="health" state="healthy" label="Nothing needs attention" /> : <StateChip kind="health" state="needs_attention" label="see below" />}
        </StatCard>
        <StalestCheckpoint jobs={jobs} />
        <OpenAlerts jobs={jobs} />
      </Box>
      {jobs.length < total && (
        <Box sx={{ color: 'text.secondary', mt: -1 }}>
          States, health and checkpoints cover the first {count(jobs.length)} of {count(total)} jobs.{' '}
          <Link component={RouterLink} underline="always" to={NEEDS_ATTENTION_PATH}>Show all jobs that need attention</Link>
        </Box>
      )}
      <Panel title="Unhealthy jobs" flush>
        {needing.length === 0 ? <EmptyState title="All jobs are healthy" /> : <UnhealthyJobs jobs={needing} />}
      </Panel>
    </>
  );
}

function StalestCheckpoint({ jobs }: { jobs: Job[] }) {
  const now = useNow();
  const oldest = stalestCheckpoint(jobs);
  return (
    <StatCard label="Stalest checkpoint" value={duration(oldest ? Math.max(0, now - oldest.sinceMs) : null)}>
      {oldest ? (
        <>
          <Link component={RouterLink} underline={oldest.ever ? 'hover' : 'always'} to={`/jobs/${oldest.job.id}`}>{oldest.job.name}</Link>
          {oldest.ever ? '' : ' has completed no checkpoint since its start'}
        </>
      ) : 'No job has the desired state RUNNING'}
    </StatCard>
  );
}

function UnhealthyJobs({ jobs }: { jobs: Job[] }) {
  return (
    <Table size="small">
      <TableHead>
        <TableRow><TableCell>Job</TableCell><TableCell>Health</TableCell><TableCell>State</TableCell><TableCell>Reason</TableCell><TableCell>Last checkpoint</TableCell></TableRow>
      </TableHead>
      <TableBody>
        {jobs.map((job) => (
          <TableRow key={job.id}>
            <TableCell><Link component={RouterLink} to={`/jobs/${job.id}`}>{job.name}</Link></TableCell>
            <TableCell><StateChip kind="health" state={job.health} /></TableCell>
            <TableCell><StateChip kind="run" state={job.state} /></TableCell>
            <TableCell sx={{ overflowWrap: 'anywhere' }}>{job.health_reason}</TableCell>
            <TableCell><RelativeTime at={job.last_checkpoint?.completed_at} /></TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}
