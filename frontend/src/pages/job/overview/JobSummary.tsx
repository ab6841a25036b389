import { Box, Link, Paper } from '@mui/material';
import { useGetList } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { bytes, count, duration, NO_VALUE } from '../../../format';
import { RelativeTime } from '../../../shared/Time';
import { StateChip } from '../../../shared/StateChip';
import { useJob } from '../useJob';

/** Shows the run, the number of exceptions, the last checkpoint and the current operation in a line above the graph. */
export function JobSummary() {
  const { id, run, restarts, last_checkpoint: last, operation } = useJob();
  // Fetch only the total number of exceptions. The link opens the list of exceptions.
  const { total: exceptions } = useGetList<Schemas['FailureRead']>('failures', { filter: { job_id: id }, pagination: { page: 1, perPage: 1 }, sort: { field: 'id', order: 'DESC' } });
  return (
    <Paper component="section" aria-label="Job summary" sx={{ px: 2, py: 1 }}>
      <Box component="dl" sx={{ m: 0, display: 'flex', flexWrap: 'wrap', columnGap: 4, rowGap: 0.5, '& dt': { color: 'text.secondary', fontSize: '0.76rem' }, '& dd': { m: 0 } }}>
        <div><dt>Run</dt><dd>{run ? <>{run.number}, started <RelativeTime at={run.created_at} /> ({run.cause})</> : NO_VALUE}</dd></div>
        <div><dt>Generation</dt><dd>{run?.generation ?? NO_VALUE}</dd></div>
        <div><dt>Exceptions</dt><dd><Link component={RouterLink} to={`/jobs/${id}/exceptions`}>{count(exceptions)}</Link></dd></div>
        {restarts > 0 && <div><dt>Consecutive restarts</dt><dd>{count(restarts)}</dd></div>}
        <div><dt>Last checkpoint</dt><dd>{last ? <>{last.number}, <RelativeTime at={last.completed_at} />, in {duration(last.end_to_end_ms)}</> : NO_VALUE}</dd></div>
        <div><dt>State size</dt><dd>{bytes(last?.state_bytes)}</dd></div>
        {operation && <div><dt>Operation</dt><dd>{operation.kind} <StateChip kind="operation" state={operation.state} /></dd></div>}
      </Box>
    </Paper>
  );
}
