import { Box, Button } from '@mui/material';
import { useMemo } from 'react';
import { DataTable, useListContext, useRecordContext } from 'react-admin';
import { Link } from 'react-router-dom';

import { useCan } from '../../auth/permissions';
import { bytes, duration, perSecond } from '../../format';
import { type LiveJobStatus, useJobsLive } from '../../live/jobsLive';
import { RelativeTime } from '../../shared/Time';
import { LabelFilter, Labels, SelectFilter, TextFilter } from '../../shared/filters';
import { ConnectionBanner, ConnectionStatus } from '../../shared/ConnectionStatus';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { StateChip, stateLabel } from '../../shared/StateChip';
import { currentState } from '../home/summary';
import { Lag } from './Lag';
import { NoJobsYet } from './NoJobsYet';
import { useRates } from './useRates';
import { HEALTH_REFETCH_MS, type Job } from './useAllJobs';

const DESIRED_STATES = (['RUNNING', 'SUSPENDED', 'CANCELLED'] satisfies Job['desired_state'][]).map((value) => ({ value, label: stateLabel(value) }));
const HEALTH = [{ value: true, label: 'Needs attention' }, { value: false, label: 'Needs no attention' }];
/** Columns that are hidden on narrow screens. */
const IF_VERY_WIDE = { display: { xs: 'none', xl: 'table-cell' } } as const;
const IF_WIDE = { display: { xs: 'none', lg: 'table-cell' } } as const;

export function JobList() {
  const live = useJobsLive();
  return (
    <ResourceList
      resource="jobs"
      title="Jobs"
      titleAddon={<ConnectionStatus connection={live.connection} />}
      banner={<ConnectionBanner connection={live.connection} />}
      sort={{ field: 'name', order: 'ASC' }}
      refreshMs={HEALTH_REFETCH_MS}
      actions={<Deploy />}
      filters={
        <>
          <TextFilter name="q" label="Name contains" />
          <SelectFilter name="desired_state" label="Desired state" allLabel="any" choices={DESIRED_STATES} />
          <SelectFilter name="needs_attention" label="Health" allLabel="any" choices={HEALTH} />
          <LabelFilter />
        </>
      }
      empty={<NoJobsYet />}
    >
      <Jobs live={live.jobs} />
    </ResourceList>
  );
}

function Deploy() {
  return useCan('operate') ? <Button variant="contained" size="small" component={Link} to="/jobs/deploy">Deploy job</Button> : null;
}

function Jobs({ live }: { live: ReadonlyMap<number, LiveJobStatus> }) {
  const { data } = useListContext<Job>();
  const ids = useMemo(() => (data ?? []).map(({ id }) => id), [data]);
  const rates = useRates(ids);
  return (
    <DataTable bulkActionButtons={false} rowClick={(id) => `/jobs/${id}`} size="small">
      <DataTable.Col source="name" field={Name} />
      <DataTable.Col label="State" disableSort><CurrentState live={live} /></DataTable.Col>
      <DataTable.Col label="Health" disableSort><Health /></DataTable.Col>
      <DataTable.Col label="Last checkpoint" disableSort><LastCheckpoint live={live} /></DataTable.Col>
      <DataTable.Col align="right" source="state_bytes" label="State size" disableSort sx={IF_WIDE} render={(job) => bytes((live.get(Number(job.id))?.last_checkpoint ?? job.last_checkpoint)?.state_bytes)} />
      <DataTable.Col align="right" source="records_per_s" label="Throughput" disableSort sx={IF_WIDE} render={(job) => perSecond(rates.get(Number(job.id))?.records_per_s)} />
      <DataTable.Col align="right" label="Lag" disableSort render={(job) => <Lag rates={rates.get(Number(job.id))} />} />
      <DataTable.Col source="created_at" label="Deployed" sx={IF_VERY_WIDE} render={(job) => <RelativeTime at={job.created_at as string} />} />
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
      <Labels labels={job.labels} />
    </Box>
  );
}

function CurrentState({ live }: { live: ReadonlyMap<number, LiveJobStatus> }) {
  const job = useRecordContext<Job>();
  return job ? <StateChip kind="run" state={currentState(job, live.get(job.id))} /> : null;
}

function Health() {
  const job = useRecordContext<Job>();
  if (!job) return null;
  return (
    <Box sx={{ minWidth: 130 }}>
      <StateChip kind="health" state={job.health} />
      {job.health_reason && <Box sx={{ color: 'text.secondary', mt: 0.25, maxWidth: 320, overflowWrap: 'anywhere' }}>{job.health_reason}</Box>}
    </Box>
  );
}

/** The age and duration of the last checkpoint, in two lines if needed. */
function LastCheckpoint({ live }: { live: ReadonlyMap<number, LiveJobStatus> }) {
  const job = useRecordContext<Job>();
  const last = (job && live.get(job.id)?.last_checkpoint) ?? job?.last_checkpoint;
  if (!last) return <>none</>;
  return <><RelativeTime at={last.completed_at} /> <Box component="span" sx={{ color: 'text.secondary', whiteSpace: 'nowrap' }}>in {duration(last.end_to_end_ms)}</Box></>;
}
