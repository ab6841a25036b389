// Unfinished: the graph with its side panel and the barrier wavefront come in place of the table of operators (issue 5).
import { LinearProgress, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { bytes, duration } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { inProgress } from '../../../live/jobLive';
import { Ago } from '../../../shared/Ago';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { useJob } from '../useJob';
import { operatorsOf } from './operators';

export default function Overview() {
  return (
    <>
      <Standing />
      <Operators />
    </>
  );
}

function Standing() {
  const job = useJob();
  const running = useJobLive(inProgress);
  const last = job.last_checkpoint;
  return (
    <Panel title="Now">
      <Facts
        of={[
          ['Run', job.run && <>{job.run.number}, begun <Ago at={job.run.created_at} /> ({job.run.cause})</>],
          ['Restarts', String(job.restarts)],
          ['Last checkpoint', last && <>{last.number}, <Ago at={last.completed_at} />, in {duration(last.end_to_end_ms)}, {bytes(last.state_bytes)}</>],
          ['Checkpoint in progress', running && `${running.checkpoint} (${running.trigger}): ${running.acknowledged} of ${running.subtasks} subtasks`],
          ['Under way', job.operation && `${job.operation.kind}: ${job.operation.state.toLowerCase()}`],
        ]}
      />
      {running && (
        <LinearProgress
          variant="determinate"
          aria-label={`Checkpoint ${running.checkpoint}`}
          value={running.subtasks === 0 ? 0 : (100 * running.acknowledged) / running.subtasks}
          sx={{ mt: 1 }}
        />
      )}
    </Panel>
  );
}

function Operators() {
  const { id, run } = useJob();
  const query = useQuery({
    queryKey: ['job', id, 'graph', run?.id],
    enabled: run !== null,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/runs/{run_id}/graph', { params: { path: { run_id: run!.id } }, signal })),
  });
  if (!run) return <Panel title="Operators"><Empty title="It has not run yet" /></Panel>;
  return (
    <Panel title="Operators" flush>
      <Answered query={query}>
        {({ graph }) => (
          <Table size="small">
            <TableHead><TableRow><TableCell>Operator</TableCell><TableCell>Kind</TableCell><TableCell>Chain</TableCell><TableCell align="right">Parallelism</TableCell></TableRow></TableHead>
            <TableBody>
              {operatorsOf(graph).map(({ uid, name, kind, chain, parallelism }) => (
                <TableRow key={uid}>
                  <TableCell>{name}</TableCell><TableCell>{kind}</TableCell><TableCell>{chain}</TableCell><TableCell align="right">{parallelism}</TableCell>
                </TableRow>
              ))}
            </TableBody>
          </Table>
        )}
      </Answered>
    </Panel>
  );
}
