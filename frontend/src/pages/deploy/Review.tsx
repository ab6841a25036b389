import { Alert, AlertTitle, Box, Button, CircularProgress, FormControlLabel, Radio, RadioGroup, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useGetOne, useNotify } from 'react-admin';
import { Link, useNavigate, useParams } from 'react-router-dom';

import { unwrap, api, idempotent } from '../../api/client';
import type { Schemas } from '../../api/types';
import { useCan } from '../../auth/permissions';
import { count, duration, toMs } from '../../format';
import { JobLiveProvider } from '../../live/JobLiveProvider';
import { ErrorState, LoadingState, QueryContent } from '../../shared/DataStates';
import { DescriptionList } from '../../shared/DescriptionList';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { StateChip } from '../../shared/StateChip';
import { useNow } from '../../shared/useNow';
import { checkpointLimits } from '../job/checkpoints/settings';
import { usePropose } from '../job/recovery/useRecovery';
import { JobContext, useJob, type Job } from '../job/useJob';
import { VersionDiff } from '../job/versions/VersionDiff';
import { layoutGraph } from './graphLayout';
import { GraphPreview } from './GraphPreview';

type Spec = Schemas['SpecRead'];

/** Shows a version after its upload: the result of the compilation, the graph, and buttons to start or upgrade the job. */
export function ReviewPage() {
  const { jobId, version } = useParams();
  const query = useGetOne<Job>('jobs', { id: Number(jobId) });
  if (query.data === undefined) return <Page title="Version">{query.error ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : <LoadingState height={320} />}</Page>;
  return (
    <JobContext value={query.data}>
      <JobLiveProvider jobId={query.data.id}><Review version={Number(version)} /></JobLiveProvider>
    </JobContext>
  );
}

function Review({ version }: { version: number }) {
  const job = useJob();
  const query = useQuery({
    queryKey: ['job', job.id, 'specs', version],
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: job.id, number: version } }, signal })),
  });
  return (
    <Page
      title={`${job.name}, version ${version}`}
      titleAddon={query.data && <StateChip kind="spec" state={query.data.state} />}
      actions={<Button size="small" component={Link} to={`/jobs/${job.id}`}>View job</Button>}
    >
      <QueryContent query={query} height={240}>{(spec) => <SpecReview spec={spec} />}</QueryContent>
    </Page>
  );
}

function SpecReview({ spec }: { spec: Spec }) {
  switch (spec.state) {
    case 'COMPILING':
      return <Compiling spec={spec} />;
    case 'INVALID':
      return <Invalid spec={spec} />;
    case 'VALID':
      return <Valid spec={spec} />;
  }
}

const LONG_MS = 100_000;

function Compiling({ spec }: { spec: Spec }) {
  const passed = Math.max(0, useNow() - toMs(spec.created_at)!);
  return (
    <Panel>
      <Box sx={{ display: 'flex', gap: 1.5, alignItems: 'center' }}>
        <CircularProgress size={18} thickness={5} aria-label="Compiling" />
        <div>
          <span role="status">A worker is compiling the code in a separate process.</span>
          {/* The elapsed time is outside of the element with the status role, because a screen reader would otherwise announce the time every second. */}
          {passed > 2_000 && <> Running for {duration(passed)}.</>}
        </div>
      </Box>
      {passed > LONG_MS && <Alert severity="warning" variant="outlined" sx={{ mt: 1.5 }}>Compilation is taking longer than its time limit. Run weir doctor to check that a worker serves the queue weir.code.</Alert>}
    </Panel>
  );
}

function Invalid({ spec }: { spec: Spec }) {
  const job = useJob();
  const canOperate = useCan('operate');
  const neverRan = job.run === null && spec.number === 1;
  return (
    <Panel title="Compilation failed">
      <Alert severity="error" variant="outlined">
        <AlertTitle>The job was not started</AlertTitle>
        <Box component="pre" role="region" tabIndex={0} aria-label="Error" sx={{ m: 0, whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{spec.problem}</Box>
      </Alert>
      {canOperate && (
        <Button variant="contained" sx={{ mt: 2 }} component={Link} to={neverRan ? `/jobs/deploy?again=${job.id}` : `/jobs/${job.id}/new-version?from=${spec.number}`}>Edit version</Button>
      )}
    </Panel>
  );
}

function Valid({ spec }: { spec: Spec }) {
  const job = useJob();
  const [compared, setCompared] = useState(false);
  const graph = useQuery({
    queryKey: ['job', job.id, 'specs', spec.number, 'graph'],
    staleTime: Infinity, // because a version's graph never changes
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/jobs/{job_id}/specs/{number}/graph', { params: { path: { job_id: job.id, number: spec.number } }, signal })),
  });
  const inForce = spec.number === job.spec_number;
  const { parallelism, checkpointing } = spec.body as Partial<Schemas['JobSpec']>;
  return (
    <>
      {inForce ? <StartPanel /> : <UpgradePanel spec={spec} compared={compared} onCompare={() => setCompared(!compared)} />}
      {compared && <VersionDiff jobId={job.id} before={job.spec_number} after={spec.number} onClose={() => setCompared(false)} />}
      <Panel title="Graph"><QueryContent query={graph}>{({ body }) => <GraphPreview graph={body} />}</QueryContent></Panel>
      <Panel title="Settings">
        <DescriptionList items={[
          ['Parallelism', parallelism === undefined ? null : String(parallelism)],
          ['Checkpoints', checkpointing?.interval === 'none' ? 'manual only' : `every ${checkpointing?.interval}, newest ${checkpointing?.retained} retained`],
          ...checkpointLimits(spec.body),
          ['Parameters', Object.entries(spec.body.parameters ?? {}).map(([name, value]) => `${name} = ${String(value)}`).join(', ')],
          ['Comment', spec.comment],
        ]} />
      </Panel>
      <Panel title="Operators" flush><QueryContent query={graph}>{({ body }) => <Operators graph={body} />}</QueryContent></Panel>
    </>
  );
}

function Operators({ graph }: { graph: Record<string, unknown> }) {
  return (
    <Table size="small">
      <TableHead><TableRow><TableCell>Operator</TableCell><TableCell>Kind</TableCell><TableCell align="right">Subtasks</TableCell></TableRow></TableHead>
      <TableBody>
        {layoutGraph(graph).nodes.map(({ uid, name, kind, parallelism }) => (
          <TableRow key={uid}><TableCell>{name}</TableCell><TableCell>{kind}</TableCell><TableCell align="right">{count(parallelism)}</TableCell></TableRow>
        ))}
      </TableBody>
    </Table>
  );
}

/** A panel with a button that starts a job that has never run. */
function StartPanel() {
  const job = useJob();
  const canOperate = useCan('operate');
  const notify = useNotify();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const start = useMutation({
    mutationFn: () => idempotent((header) => api.POST('/api/v1/jobs/{job_id}/start', { params: { path: { job_id: job.id }, header } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      void navigate(`/jobs/${job.id}`);
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  if (job.run !== null || job.desired_state === 'RUNNING') return <Alert severity="info" variant="outlined">This is the current version.</Alert>;
  return (
    <Alert
      severity="success"
      variant="outlined"
      action={canOperate && <Button variant="contained" disabled={start.isPending} onClick={() => start.mutate()}>Start job</Button>}
    >
      Compilation succeeded. The job is not running yet.
    </Alert>
  );
}

type Mode = NonNullable<Schemas['UpgradeRequest']['mode']>;

function UpgradePanel({ spec, compared, onCompare }: { spec: Spec; compared: boolean; onCompare(): void }) {
  const job = useJob();
  const canOperate = useCan('operate');
  const [mode, setMode] = useState<Mode>('savepoint');
  const propose = usePropose();
  return (
    <Panel title={`Upgrade from version ${job.spec_number}`} actions={<Button size="small" aria-expanded={compared} onClick={onCompare}>Compare versions</Button>}>
      {!canOperate ? <>Compilation succeeded. An operator can upgrade the job to this version.</> : (
        <>
          <RadioGroup aria-label="Upgrade mode" value={mode} onChange={(_, value) => setMode(value as Mode)}>
            <FormControlLabel value="savepoint" control={<Radio size="small" />} label="Stop with a final checkpoint and resume from this checkpoint. No input is read twice." />
            <FormControlLabel value="last-state" control={<Radio size="small" />} label="Stop immediately and resume from the newest checkpoint. Input after this checkpoint is read again." />
            <FormControlLabel value="stateless" control={<Radio size="small" />} label="Stop with a final checkpoint and start without state. All input is read again, and committed output is revoked if the sink supports this. This mode requires the permission to roll back." />
          </RadioGroup>
          <Button variant="contained" sx={{ mt: 1 }} disabled={propose.isPending} onClick={() => propose.mutate({ kind: 'upgrade', spec: spec.number, mode })}>Preview upgrade</Button>
        </>
      )}
    </Panel>
  );
}
