import { Alert, AlertTitle, Box, Button, CircularProgress, FormControlLabel, Radio, RadioGroup, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useGetOne, useNotify } from 'react-admin';
import { Link, useNavigate, useParams } from 'react-router-dom';

import { answered, api, once } from '../../api/client';
import type { Schemas } from '../../api/types';
import { useCan } from '../../auth/useCan';
import { count, duration, toMs } from '../../format';
import { JobLiveProvider } from '../../live/JobLiveProvider';
import { Answered } from '../../shared/Answered';
import { Facts } from '../../shared/Facts';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { Failure, Waiting } from '../../shared/Standins';
import { State } from '../../shared/State';
import { useNow } from '../../shared/useNow';
import { limits } from '../job/checkpoints/settings';
import { usePropose } from '../job/recovery/useRecovery';
import { JobContext, useJob, type Job } from '../job/useJob';
import { Difference } from '../job/versions/Difference';
import { drawingOf } from './graphLayout';
import { GraphPreview } from './GraphPreview';

type Spec = Schemas['SpecShown'];

/** One version after it was uploaded: what compiling it has found, its graph, and starting it or upgrading to it. */
export function ReviewPage() {
  const { jobId, version } = useParams();
  const query = useGetOne<Job>('jobs', { id: Number(jobId) });
  if (query.data === undefined) return <Page title="Version">{query.error ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Waiting height={320} />}</Page>;
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
    queryFn: ({ signal }) => answered(api.GET('/api/v1/jobs/{job_id}/specs/{number}', { params: { path: { job_id: job.id, number: version } }, signal })),
  });
  return (
    <Page
      title={`${job.name}, version ${version}`}
      beside={query.data && <State of="spec" is={query.data.state} />}
      actions={<Button size="small" component={Link} to={`/jobs/${job.id}`}>To the job</Button>}
    >
      <Answered query={query} height={240}>{(spec) => <OfSpec spec={spec} />}</Answered>
    </Page>
  );
}

function OfSpec({ spec }: { spec: Spec }) {
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
          <span role="status">A worker loads the code in a process of its own, to find its graph.</span>
          {/* Another one each second: it is there to be read, and is not told. */}
          {passed > 2_000 && <> For {duration(passed)} so far.</>}
        </div>
      </Box>
      {passed > LONG_MS && <Alert severity="warning" variant="outlined" sx={{ mt: 1.5 }}>That takes longer than it may. Is a worker for the queue weir.code running? See weir doctor.</Alert>}
    </Panel>
  );
}

function Invalid({ spec }: { spec: Spec }) {
  const job = useJob();
  const may = useCan('operate');
  const never = job.run === null && spec.number === 1;
  return (
    <Panel title="It does not compile">
      <Alert severity="error" variant="outlined">
        <AlertTitle>Nothing was started</AlertTitle>
        <Box component="pre" role="region" tabIndex={0} aria-label="What is wrong" sx={{ m: 0, whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{spec.problem}</Box>
      </Alert>
      {may && (
        <Button variant="contained" sx={{ mt: 2 }} component={Link} to={never ? `/jobs/deploy?again=${job.id}` : `/jobs/${job.id}/new-version?from=${spec.number}`}>Change it</Button>
      )}
    </Panel>
  );
}

function Valid({ spec }: { spec: Spec }) {
  const job = useJob();
  const [compared, setCompared] = useState(false);
  const graph = useQuery({
    queryKey: ['job', job.id, 'specs', spec.number, 'graph'],
    staleTime: Infinity, // a version's graph never changes
    queryFn: ({ signal }) => answered(api.GET('/api/v1/jobs/{job_id}/specs/{number}/graph', { params: { path: { job_id: job.id, number: spec.number } }, signal })),
  });
  const inForce = spec.number === job.spec_number;
  const { parallelism, checkpointing } = spec.body as Partial<Schemas['SpecBody']>;
  return (
    <>
      {inForce ? <Starting /> : <Upgrading spec={spec} compared={compared} onCompare={() => setCompared(!compared)} />}
      {compared && <Difference jobId={job.id} before={job.spec_number} after={spec.number} onClose={() => setCompared(false)} />}
      <Panel title="Graph"><Answered query={graph}>{({ body }) => <GraphPreview graph={body} />}</Answered></Panel>
      <Panel title="Settings">
        <Facts of={[
          ['Parallelism', parallelism === undefined ? null : String(parallelism)],
          ['Checkpoints', checkpointing?.interval === 'none' ? 'only when asked for' : `every ${checkpointing?.interval}, the newest ${checkpointing?.retained} are kept`],
          ...limits(spec.body),
          ['Parameters', Object.entries(spec.body.parameters ?? {}).map(([name, value]) => `${name} = ${String(value)}`).join(', ')],
          ['Comment', spec.comment],
        ]} />
      </Panel>
      <Panel title="Operators" flush><Answered query={graph}>{({ body }) => <Operators graph={body} />}</Answered></Panel>
    </>
  );
}

function Operators({ graph }: { graph: Record<string, unknown> }) {
  return (
    <Table size="small">
      <TableHead><TableRow><TableCell>Operator</TableCell><TableCell>Kind</TableCell><TableCell align="right">Subtasks</TableCell></TableRow></TableHead>
      <TableBody>
        {drawingOf(graph).nodes.map(({ uid, name, kind, parallelism }) => (
          <TableRow key={uid}><TableCell>{name}</TableCell><TableCell>{kind}</TableCell><TableCell align="right">{count(parallelism)}</TableCell></TableRow>
        ))}
      </TableBody>
    </Table>
  );
}

/** A job that waits: nothing of it runs until somebody says so. */
function Starting() {
  const job = useJob();
  const may = useCan('operate');
  const notify = useNotify();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const start = useMutation({
    mutationFn: () => once((header) => api.POST('/api/v1/jobs/{job_id}/start', { params: { path: { job_id: job.id }, header } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      void navigate(`/jobs/${job.id}`);
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  if (job.run !== null || job.desired_state === 'RUNNING') return <Alert severity="info" variant="outlined">This is the version in force.</Alert>;
  return (
    <Alert
      severity="success"
      variant="outlined"
      action={may && <Button variant="contained" disabled={start.isPending} onClick={() => start.mutate()}>Start it</Button>}
    >
      It compiles. Nothing runs yet: look at its graph, then start it, now or later.
    </Alert>
  );
}

type Mode = NonNullable<Schemas['UpgradeRequest']['mode']>;

function Upgrading({ spec, compared, onCompare }: { spec: Spec; compared: boolean; onCompare(): void }) {
  const job = useJob();
  const may = useCan('operate');
  const [mode, setMode] = useState<Mode>('savepoint');
  const propose = usePropose();
  return (
    <Panel title={`Upgrade from version ${job.spec_number}`} actions={<Button size="small" aria-expanded={compared} onClick={onCompare}>What differs</Button>}>
      {!may ? <>It compiles. It runs once an operator upgrades the job to it.</> : (
        <>
          <RadioGroup aria-label="How the job is stopped" value={mode} onChange={(_, value) => setMode(value as Mode)}>
            <FormControlLabel value="savepoint" control={<Radio size="small" />} label="Stop with a last checkpoint and go on from it: nothing is read twice" />
            <FormControlLabel value="last-state" control={<Radio size="small" />} label="Stop at once and go on from the newest checkpoint: what came after it is read again" />
            <FormControlLabel value="stateless" control={<Radio size="small" />} label="Stop with a last checkpoint and begin anew, without any state: all input is read again, and what was committed is taken back where the sink can. It is confirmed by who has the permission to roll back." />
          </RadioGroup>
          <Button variant="contained" sx={{ mt: 1 }} disabled={propose.isPending} onClick={() => propose.mutate({ kind: 'upgrade', spec: spec.number, mode })}>See what the upgrade would do</Button>
        </>
      )}
    </Panel>
  );
}
