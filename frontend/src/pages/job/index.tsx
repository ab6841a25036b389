import { Box, Link as MuiLink, Tab, Tabs } from '@mui/material';
import { memo, Suspense } from 'react';
import { useGetOne } from 'react-admin';
import { Link, Route, Routes, useParams } from 'react-router-dom';

import { JobLiveProvider, useJobLive } from '../../live/JobLiveProvider';
import type { JobLive } from '../../live/jobLive';
import { LIVE, type ConnectionState } from '../../live/connectionState';
import { ConnectionBanner, ConnectionStatus } from '../../shared/ConnectionStatus';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { EmptyState, ErrorState, LoadingState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { OperationFailures } from './OperationFailures';
import { JobActions } from './JobActions';
import { UnreachableDriver } from './UnreachableDriver';
import { tabAt, TABS } from './tabs';
import { JobContext, useJob, type Job } from './useJob';

/** The interval of polling. The job is also polled, because the stream does not report the time of the driver's last contact with the API. */
const ASK_EVERY_MS = 15_000;

export function JobPage() {
  const { jobId } = useParams();
  if (!/^[1-9]\d*$/.test(jobId ?? '')) return <Page title="No such job"><EmptyState title="No such job">The URL contains no valid job ID.</EmptyState></Page>;
  // The key remounts the page when the job changes, so that selections and input are not kept.
  return <OneJob key={jobId} jobId={Number(jobId)} />;
}

function OneJob({ jobId }: { jobId: number }) {
  const query = useGetOne<Job>('jobs', { id: jobId }, { refetchInterval: ASK_EVERY_MS });
  if (query.data === undefined) {
    return (
      <Page title="Job">
        {query.error ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : <LoadingState height={320} />}
      </Page>
    );
  }
  return (
    <JobContext value={query.data}>
      <JobLiveProvider jobId={jobId}>
        <OperationFailures />
        <Shell />
      </JobLiveProvider>
    </JobContext>
  );
}

function Shell() {
  const job = useJob();
  const { '*': rest } = useParams();
  // The stream reports a new state earlier than the polled job. Only the polled job shows whether the driver is unreachable.
  const run = useJobLive((live) => live.run);
  const state = run && job.state !== 'RECONCILING' && (!job.run || run.number >= job.run.number) ? run.state : job.state;
  return (
    <Page
      title={job.name}
      section={tabAt(rest)?.label}
      titleAddon={<><StateChip kind="run" state={state} /><StateChip kind="health" state={job.health} /><Mark /></>}
      actions={<JobActions />}
    >
      <Banner />
      <UnreachableDriver />
      <HealthText />
      <JobTabs id={job.id} />
      <Content id={job.id} />
    </Page>
  );
}

/** The reasons for the health of the job, and its bottleneck. A reason with the code `bottleneck` contains the sentence about the bottleneck. */
function HealthText() {
  const { health_reason: reason, health_reasons: reasons, bottleneck } = useJob();
  const texts = reasons.length > 0 ? reasons.map(({ text }) => text) : reason ? [reason] : [];
  if (bottleneck && !reasons.some(({ code }) => code === 'bottleneck')) texts.push(bottleneck.sentence);
  return texts.length === 0 ? null : (
    <Box sx={{ color: 'text.secondary', mt: -1, overflowWrap: 'anywhere' }}>{texts.map((text) => <div key={text}>{text}</div>)}</Box>
  );
}

/**
 * Return LIVE for a live connection, without the time of the last message. The time of the last message changes ten times a second, and each change
 * would render `Mark` and `Banner` again.
 */
const shownLine = ({ connection }: JobLive): ConnectionState => (connection.status === 'live' ? LIVE : connection);

function Mark() {
  return <ConnectionStatus connection={useJobLive(shownLine)} />;
}

function Banner() {
  return <ConnectionBanner connection={useJobLive(shownLine)} />;
}

// The content of the tab is memoized, because it does not depend on the rest of the page.
const Content = memo(function Content({ id }: { id: number }) {
  return (
    <Routes>
      {TABS.map(({ path, nested, Content: Shown }) => (
        <Route key={path} path={path === '' ? '/' : nested ? `${path}/*` : path} element={<Suspense fallback={<LoadingState height={320} />}><Shown /></Suspense>} />
      ))}
      <Route
        path="*"
        element={
          <Panel>
            <EmptyState title="No such page">Check the URL, or go to the <MuiLink component={Link} to={`/jobs/${id}`} underline="always">Overview</MuiLink>.</EmptyState>
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
