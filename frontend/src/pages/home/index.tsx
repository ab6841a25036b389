import { Box, Link, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useMemo } from 'react';
import { Link as RouterLink } from 'react-router-dom';

import { count, counted, duration } from '../../format';
import { useJobsLive } from '../../live/useJobsLive';
import { Ago } from '../../shared/Ago';
import { Answered } from '../../shared/Answered';
import { LineBanner, LineMark } from '../../shared/LineState';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';
import { useNow } from '../../shared/useNow';
import { NoJobs } from '../jobs/NoJobs';
import { useAllJobs, type Job } from '../jobs/useAllJobs';
import { countsByState, freshened, needingSomebody, oldestCheckpoint } from './facts';
import { Figure } from './Figure';
import { OpenAlerts } from './OpenAlerts';

/** The list of jobs, with those only that need somebody. */
const NEEDING = `/jobs?${new URLSearchParams({ filter: JSON.stringify({ needs_person: true }) })}`;

export function Home() {
  const live = useJobsLive();
  const query = useAllJobs();
  return (
    <Page title="Home" beside={<LineMark line={live.line} />}>
      <LineBanner line={live.line} />
      <Answered query={query} height={320}>
        {({ jobs, total }) => (jobs.length === 0 ? <Panel><NoJobs /></Panel> : <Summary jobs={freshened(jobs, live.jobs)} total={total} />)}
      </Answered>
    </Page>
  );
}

function Summary({ jobs, total }: { jobs: Job[]; total: number }) {
  const counts = useMemo(() => countsByState(jobs), [jobs]);
  const needing = useMemo(() => needingSomebody(jobs), [jobs]);
  const waiting = needing.filter(({ health }) => health === 'needs a person').length;
  return (
    <>
      <Box sx={{ display: 'grid', gap: 2, gridTemplateColumns: { xs: '1fr', sm: 'repeat(2, minmax(0, 1fr))', lg: 'repeat(4, minmax(0, 1fr))' } }}>
        <Figure label="Jobs" value={count(total)}>
          <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: 0.75 }}>
            {counts.map(([state, many]) => (
              <span key={state}><State of="run" is={state} label={`${count(many)} ${state.toLowerCase()}`} /></span>
            ))}
          </Box>
        </Figure>
        <Figure label="Need a person" value={count(waiting)}>
          {waiting === 0 ? <State of="health" is="ok" label="nothing waits for anybody" /> : <State of="health" is="needs a person" label="see below" />}
        </Figure>
        <OldestCheckpoint jobs={jobs} />
        <OpenAlerts jobs={jobs} />
      </Box>
      {jobs.length < total && (
        <Box sx={{ color: 'text.secondary', mt: -1 }}>
          States, health and checkpoints are those of the first {counted(jobs.length, 'job')}; there are {count(total)}.{' '}
          <Link component={RouterLink} underline="always" to={NEEDING}>Those of all that need a person</Link>
        </Box>
      )}
      <Panel title="Jobs that are not where they should be" flush>
        {needing.length === 0 ? <Empty title="All jobs are where they should be" /> : <Needing jobs={needing} />}
      </Panel>
    </>
  );
}

function OldestCheckpoint({ jobs }: { jobs: Job[] }) {
  const now = useNow();
  const oldest = oldestCheckpoint(jobs);
  return (
    <Figure label="Oldest last checkpoint" value={duration(oldest ? Math.max(0, now - oldest.sinceMs) : null)}>
      {oldest ? (
        <>
          <Link component={RouterLink} underline={oldest.ever ? 'hover' : 'always'} to={`/jobs/${oldest.job.id}`}>{oldest.job.name}</Link>
          {oldest.ever ? '' : ' has not completed any since its start'}
        </>
      ) : 'No job is meant to run'}
    </Figure>
  );
}

function Needing({ jobs }: { jobs: Job[] }) {
  return (
    <Table size="small">
      <TableHead>
        <TableRow><TableCell>Job</TableCell><TableCell>Health</TableCell><TableCell>State</TableCell><TableCell>Why</TableCell><TableCell>Last checkpoint</TableCell></TableRow>
      </TableHead>
      <TableBody>
        {jobs.map((job) => (
          <TableRow key={job.id}>
            <TableCell><Link component={RouterLink} to={`/jobs/${job.id}`}>{job.name}</Link></TableCell>
            <TableCell><State of="health" is={job.health} /></TableCell>
            <TableCell><State of="run" is={job.state} /></TableCell>
            <TableCell sx={{ overflowWrap: 'anywhere' }}>{job.why}</TableCell>
            <TableCell><Ago at={job.last_checkpoint?.completed_at} /></TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}
