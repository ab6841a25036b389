import { Box, Button } from '@mui/material';
import { useMemo } from 'react';
import { DataTable, useListContext, useRecordContext } from 'react-admin';
import { Link } from 'react-router-dom';

import { useCan } from '../../auth/useCan';
import { bytes, duration, perSecond } from '../../format';
import type { JobSummary } from '../../live/jobsLive';
import { useJobsLive } from '../../live/useJobsLive';
import { Ago } from '../../shared/Ago';
import { ChoiceFilter, TextFilter } from '../../shared/filters';
import { LineBanner, LineMark } from '../../shared/LineState';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { State, words } from '../../shared/State';
import { stateNow } from '../home/facts';
import { Lag } from './Lag';
import { NoJobs } from './NoJobs';
import { useRates } from './useRates';
import { HEALTH_AGAIN_MS, type Job } from './useAllJobs';

const WANTED = (['RUNNING', 'SUSPENDED', 'CANCELLED'] satisfies Job['desired_state'][]).map((value) => ({ value, label: words(value) }));
const HEALTH = [{ value: true, label: 'needs a person' }, { value: false, label: 'needs nobody' }];
/** What is left out where there is no room, least missed first. */
const IF_VERY_WIDE = { display: { xs: 'none', xl: 'table-cell' } } as const;
const IF_WIDE = { display: { xs: 'none', lg: 'table-cell' } } as const;

export function JobList() {
  const live = useJobsLive();
  return (
    <ResourceList
      resource="jobs"
      title="Jobs"
      beside={<LineMark line={live.line} />}
      above={<LineBanner line={live.line} />}
      sort={{ field: 'name', order: 'ASC' }}
      refreshMs={HEALTH_AGAIN_MS}
      actions={<Deploy />}
      filters={
        <>
          <TextFilter name="q" label="Part of a name" />
          <ChoiceFilter name="desired_state" label="Wanted" all="anything" choices={WANTED} />
          <ChoiceFilter name="needs_person" label="Health" all="any" choices={HEALTH} />
        </>
      }
      empty={<NoJobs />}
    >
      <Jobs told={live.jobs} />
    </ResourceList>
  );
}

function Deploy() {
  return useCan('operate') ? <Button variant="contained" size="small" component={Link} to="/jobs/deploy">Deploy…</Button> : null;
}

function Jobs({ told }: { told: ReadonlyMap<number, JobSummary> }) {
  const { data } = useListContext<Job>();
  const ids = useMemo(() => (data ?? []).map(({ id }) => id), [data]);
  const rates = useRates(ids);
  return (
    <DataTable bulkActionButtons={false} rowClick={(id) => `/jobs/${id}`} size="small">
      <DataTable.Col source="name" field={Name} />
      <DataTable.Col label="State" disableSort><NewestState told={told} /></DataTable.Col>
      <DataTable.Col label="Health" disableSort><Health /></DataTable.Col>
      <DataTable.Col label="Last checkpoint" disableSort><LastCheckpoint told={told} /></DataTable.Col>
      <DataTable.Col align="right" source="state_bytes" label="State size" disableSort sx={IF_WIDE} render={(job) => bytes((told.get(Number(job.id))?.last_checkpoint ?? job.last_checkpoint)?.state_bytes)} />
      <DataTable.Col align="right" source="records_per_s" label="Throughput" disableSort sx={IF_WIDE} render={(job) => perSecond(rates.get(Number(job.id))?.records_per_s)} />
      <DataTable.Col align="right" label="Lag" disableSort render={(job) => <Lag of={rates.get(Number(job.id))} />} />
      <DataTable.Col source="created_at" label="Deployed" sx={IF_VERY_WIDE} render={(job) => <Ago at={job.created_at as string} />} />
    </DataTable>
  );
}

function Name() {
  const job = useRecordContext<Job>();
  if (!job) return null;
  return (
    <Box sx={{ minWidth: 150 }}>
      <RowLink to={`/jobs/${job.id}`}>{job.name}</RowLink>
      {job.description && <Box sx={{ color: 'text.secondary', overflow: 'hidden', textOverflow: 'ellipsis', maxWidth: { xs: 180, lg: 230 }, whiteSpace: 'nowrap' }}>{job.description}</Box>}
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
    <Box sx={{ minWidth: 130 }}>
      <State of="health" is={job.health} />
      {job.why && <Box sx={{ color: 'text.secondary', mt: 0.25, maxWidth: 320, overflowWrap: 'anywhere' }}>{job.why}</Box>}
    </Box>
  );
}

/** How long it took goes below where both do not fit beside each other. */
function LastCheckpoint({ told }: { told: ReadonlyMap<number, JobSummary> }) {
  const job = useRecordContext<Job>();
  const last = (job && told.get(job.id)?.last_checkpoint) ?? job?.last_checkpoint;
  if (!last) return <>none yet</>;
  return <><Ago at={last.completed_at} /> <Box component="span" sx={{ color: 'text.secondary', whiteSpace: 'nowrap' }}>in {duration(last.end_to_end_ms)}</Box></>;
}
