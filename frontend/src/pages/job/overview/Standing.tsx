import { Box, Paper } from '@mui/material';

import { bytes, duration, NOTHING } from '../../../format';
import { Ago } from '../../../shared/Ago';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';

/** How the job stands, in one line over the graph. */
export function Standing() {
  const { run, restarts, last_checkpoint: last, operation } = useJob();
  return (
    <Paper component="section" aria-label="Now" sx={{ px: 2, py: 1 }}>
      <Box component="dl" sx={{ m: 0, display: 'flex', flexWrap: 'wrap', columnGap: 4, rowGap: 0.5, '& dt': { color: 'text.secondary', fontSize: '0.76rem' }, '& dd': { m: 0 } }}>
        <div><dt>Run</dt><dd>{run ? <>{run.number}, begun <Ago at={run.created_at} /> ({run.cause})</> : NOTHING}</dd></div>
        <div><dt>Restarts</dt><dd>{restarts}</dd></div>
        <div><dt>Last checkpoint</dt><dd>{last ? <>{last.number}, <Ago at={last.completed_at} />, in {duration(last.end_to_end_ms)}</> : NOTHING}</dd></div>
        <div><dt>State</dt><dd>{bytes(last?.state_bytes)}</dd></div>
        {operation && <div><dt>Under way</dt><dd>{operation.kind} <State of="operation" is={operation.state} /></dd></div>}
      </Box>
    </Paper>
  );
}
