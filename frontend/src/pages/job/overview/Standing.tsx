import { Box, Link, Paper } from '@mui/material';
import { useGetList } from 'react-admin';
import { Link as RouterLink } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { bytes, count, duration, NOTHING } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';

/** How the job stands, in one line over the graph. */
export function Standing() {
  const { id, run, restarts, last_checkpoint: last, operation } = useJob();
  // How many there are; the list itself is behind the link.
  const { total: exceptions } = useGetList<Schemas['FailureBody']>('failures', { filter: { job_id: id }, pagination: { page: 1, perPage: 1 }, sort: { field: 'id', order: 'DESC' } });
  return (
    <Paper component="section" aria-label="Now" sx={{ px: 2, py: 1 }}>
      <Box component="dl" sx={{ m: 0, display: 'flex', flexWrap: 'wrap', columnGap: 4, rowGap: 0.5, '& dt': { color: 'text.secondary', fontSize: '0.76rem' }, '& dd': { m: 0 } }}>
        <div><dt>Run</dt><dd>{run ? <>{run.number}, begun <Ago at={run.created_at} /> ({run.cause})</> : NOTHING}</dd></div>
        <div><dt>Generation</dt><dd>{run?.generation ?? NOTHING}</dd></div>
        <div><dt>Exceptions</dt><dd><Link component={RouterLink} to={`/jobs/${id}/exceptions`}>{count(exceptions)}</Link></dd></div>
        {restarts > 0 && <div><dt>Restarts in a row</dt><dd>{count(restarts)}</dd></div>}
        <div><dt>Last checkpoint</dt><dd>{last ? <>{last.number}, <Ago at={last.completed_at} />, in {duration(last.end_to_end_ms)}</> : NOTHING}</dd></div>
        <div><dt>State</dt><dd>{bytes(last?.state_bytes)}</dd></div>
        {operation && <div><dt>Under way</dt><dd>{operation.kind} <State of="operation" is={operation.state} /></dd></div>}
      </Box>
    </Paper>
  );
}
