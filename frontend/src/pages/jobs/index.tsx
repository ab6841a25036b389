import { Box, Button, InputAdornment, TextField } from '@mui/material';
import Search from '@mui/icons-material/Search';
import { useMemo, useState } from 'react';
import { DataTable, ListBase, Pagination, useListContext, useRecordContext } from 'react-admin';
import { Link } from 'react-router-dom';

import { useCan } from '../../auth/useCan';
import { bytes, duration, perSecond } from '../../format';
import type { JobSummary } from '../../live/jobsLive';
import { useJobsLive } from '../../live/useJobsLive';
import { Ago } from '../../shared/Ago';
import { LineBanner, LineMark } from '../../shared/LineState';
import { Page } from '../../shared/Page';
import { Panel } from '../../shared/Panel';
import { RowLink } from '../../shared/rows';
import { Empty, Failure, Waiting } from '../../shared/Standins';
import { State } from '../../shared/State';
import { stateNow } from '../home/facts';
import { Lag } from './Lag';
import { NoJobs } from './NoJobs';
import { useRates } from './useRates';
import { HEALTH_AGAIN_MS, type Job } from './useAllJobs';

export function JobList() {
  const live = useJobsLive();
  return (
    <ListBase resource="jobs" sort={{ field: 'name', order: 'ASC' }} perPage={25} queryOptions={{ refetchInterval: HEALTH_AGAIN_MS }}>
      <Page title="Jobs" beside={<LineMark line={live.line} />} actions={<><ByName /><Deploy /></>}>
        <LineBanner line={live.line} />
        <Panel flush>
          <Jobs told={live.jobs} />
        </Panel>
      </Page>
    </ListBase>
  );
}

function Deploy() {
  return useCan('operate') ? <Button variant="contained" size="small" component={Link} to="/jobs/deploy">Deploy…</Button> : null;
}

function ByName() {
  const { filterValues, setFilters } = useListContext<Job>();
  const [typed, setTyped] = useState<string>(filterValues.q ?? '');
  return (
    <TextField
      size="small"
      placeholder="Part of a name"
      value={typed}
      onChange={({ target: { value } }) => {
        setTyped(value);
        setFilters(value ? { q: value } : {}, undefined, true);
      }}
      slotProps={{
        htmlInput: { 'aria-label': 'Part of the name of a job' },
        input: { startAdornment: <InputAdornment position="start"><Search fontSize="small" /></InputAdornment> },
      }}
    />
  );
}

function Jobs({ told }: { told: ReadonlyMap<number, JobSummary> }) {
  const { data, error, filterValues, isPending, refetch } = useListContext<Job>();
  const ids = useMemo(() => (data ?? []).map(({ id }) => id), [data]);
  const rates = useRates(ids);
  if (data === undefined) return error && !isPending ? <Failure error={error} onRetry={() => void refetch()} /> : <Waiting height={240} />;
  if (data.length === 0) {
    return filterValues.q
      ? <Empty title={`No job has “${filterValues.q}” in its name`} />
      : <NoJobs />;
  }
  return (
    <>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <DataTable bulkActionButtons={false} rowClick={(id) => `/jobs/${id}`} size="small">
        <DataTable.Col source="name" field={Name} />
        <DataTable.Col label="State" disableSort><NewestState told={told} /></DataTable.Col>
        <DataTable.Col label="Health" disableSort><Health /></DataTable.Col>
        <DataTable.Col label="Last checkpoint" disableSort sx={{ whiteSpace: 'nowrap' }}><LastCheckpoint told={told} /></DataTable.Col>
        <DataTable.Col align="right" source="state_bytes" label="State size" disableSort render={(job) => bytes((told.get(Number(job.id))?.last_checkpoint ?? job.last_checkpoint)?.state_bytes)} />
        <DataTable.Col align="right" source="records_per_s" label="Throughput" disableSort render={(job) => perSecond(rates.get(Number(job.id))?.records_per_s)} />
        <DataTable.Col label="Lag" disableSort render={(job) => <Lag of={rates.get(Number(job.id))} />} />
      </DataTable>
      <Pagination rowsPerPageOptions={[25, 50, 100]} />
    </>
  );
}

function Name() {
  const job = useRecordContext<Job>();
  if (!job) return null;
  return (
    <Box sx={{ minWidth: 160 }}>
      <RowLink to={`/jobs/${job.id}`}>{job.name}</RowLink>
      {job.description && <Box sx={{ color: 'text.secondary', overflow: 'hidden', textOverflow: 'ellipsis', maxWidth: 230, whiteSpace: 'nowrap' }}>{job.description}</Box>}
    </Box>
  );
}

function NewestState({ told }: { told: ReadonlyMap<number, JobSummary> }) {
  const job = useRecordContext<Job>();
  return job ? <State of="run" is={stateNow(job, told.get(job.id))} /> : null;
}

function Health() {
  const job = useRecordContext<Job>();
  if (!job) return null;
  return (
    <Box sx={{ minWidth: 190 }}>
      <State of="health" is={job.health} />
      {job.why && <Box sx={{ color: 'text.secondary', mt: 0.25, maxWidth: 320, overflowWrap: 'anywhere' }}>{job.why}</Box>}
    </Box>
  );
}

function LastCheckpoint({ told }: { told: ReadonlyMap<number, JobSummary> }) {
  const job = useRecordContext<Job>();
  const last = (job && told.get(job.id)?.last_checkpoint) ?? job?.last_checkpoint;
  if (!last) return <>none yet</>;
  return (
    <Box sx={{ whiteSpace: 'nowrap' }}>
      <Ago at={last.completed_at} /> <Box component="span" sx={{ color: 'text.secondary' }}>in {duration(last.end_to_end_ms)}</Box>
    </Box>
  );
}
