import { Box, Link as MuiLink, Tab, Tabs } from '@mui/material';
import { memo, Suspense } from 'react';
import { useGetOne } from 'react-admin';
import { Link, Route, Routes, useParams } from 'react-router-dom';

import { JobLiveProvider, useJobLive } from '../../live/JobLiveProvider';
import type { JobLive } from '../../live/jobLive';
import { LIVE, type Line } from '../../live/line';
import { LineBanner, LineMark } from '../../shared/LineState';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { Empty, Failure, Waiting } from '../../shared/Standins';
import { State } from '../../shared/State';
import { FailureNotices } from './FailureNotices';
import { JobVerbs } from './JobVerbs';
import { RunOutOfReach } from './RunOutOfReach';
import { tabAt, TABS } from './tabs';
import { JobContext, useJob, type Job } from './useJob';

/** Also while its stream tells nothing that changes it: when its driver was last heard does not come by events. */
const ASK_EVERY_MS = 15_000;

export function JobPage() {
  const { jobId } = useParams();
  if (!/^[1-9]\d*$/.test(jobId ?? '')) return <Page title="No such job"><Empty title="There is no such job">Its number is not in the address.</Empty></Page>;
  // With another job everything begins anew: what is open, chosen or typed belongs to this one.
  return <OneJob key={jobId} jobId={Number(jobId)} />;
}

function OneJob({ jobId }: { jobId: number }) {
  const query = useGetOne<Job>('jobs', { id: jobId }, { refetchInterval: ASK_EVERY_MS });
  if (query.data === undefined) {
    return (
      <Page title="Job">
        {query.error ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Waiting height={320} />}
      </Page>
    );
  }
  return (
    <JobContext value={query.data}>
      <JobLiveProvider jobId={jobId}>
        <FailureNotices />
        <Shell />
      </JobLiveProvider>
    </JobContext>
  );
}

function Shell() {
  const job = useJob();
  const { '*': rest } = useParams();
  // The stream is faster than asking again; but it tells what the run said last, and of one that says nothing the server knows.
  const run = useJobLive((live) => live.run);
  const state = run && job.state !== 'RECONCILING' && (!job.run || run.number >= job.run.number) ? run.state : job.state;
  return (
    <Page
      title={job.name}
      part={tabAt(rest)?.label}
      beside={<><State of="run" is={state} /><State of="health" is={job.health} /><Mark /></>}
      actions={<JobVerbs />}
    >
      <Banner />
      <RunOutOfReach />
      {job.why && <Box sx={{ color: 'text.secondary', mt: -1, overflowWrap: 'anywhere' }}>{job.why}</Box>}
      <JobTabs id={job.id} />
      <Content id={job.id} />
    </Page>
  );
}

/** That a live line was heard of again changes nothing: it is, ten times a second. */
const shownLine = ({ line }: JobLive): Line => (line.is === 'live' ? LIVE : line);

function Mark() {
  return <LineMark line={useJobLive(shownLine)} />;
}

function Banner() {
  return <LineBanner line={useJobLive(shownLine)} />;
}

// What a tab shows is its own matter: it is not drawn anew because something else of the job has changed.
const Content = memo(function Content({ id }: { id: number }) {
  return (
    <Routes>
      {TABS.map(({ path, deeper, Content: Shown }) => (
        <Route key={path} path={path === '' ? '/' : deeper ? `${path}/*` : path} element={<Suspense fallback={<Waiting height={320} />}><Shown /></Suspense>} />
      ))}
      <Route
        path="*"
        element={
          <Panel>
            <Empty title="There is no such page of this job">Its address may have been mistyped. <MuiLink component={Link} to={`/jobs/${id}`} underline="always">Overview</MuiLink> is its first one.</Empty>
          </Panel>
        }
      />
    </Routes>
  );
});

const JobTabs = memo(function JobTabs({ id }: { id: number }) {
  const { '*': rest } = useParams();
  return (
    <Box component="nav" aria-label="About this job" sx={{ borderBottom: 1, borderColor: 'divider', mt: -1 }}>
      <Tabs value={tabAt(rest)?.path ?? false} variant="scrollable" scrollButtons={false}>
        {TABS.map(({ path, label }) => (
          <Tab key={path} value={path} label={label} component={Link} to={path === '' ? `/jobs/${id}` : `/jobs/${id}/${path}`} />
        ))}
      </Tabs>
    </Box>
  );
});
