// Unfinished: charts over time and the heat map over subtasks come in place of this table (issue 5).
import { Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import { useQuery } from '@tanstack/react-query';

import { answered, api } from '../../../api/client';
import { percent, perSecond } from '../../../format';
import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';

const ASK_AGAIN_MS = 5_000;

export default function Backpressure() {
  const { id } = useJob();
  const query = useQuery({
    queryKey: ['job', id, 'metrics'],
    refetchInterval: ASK_AGAIN_MS,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/jobs/{job_id}/metrics', { params: { path: { job_id: id } }, signal })),
  });
  return (
    <Panel title="Subtasks, now" flush>
      <Answered query={query}>
        {({ subtasks }) =>
          subtasks.length === 0 ? (
            <Empty title="Nothing was measured in the last 15 minutes">A running job tells what its subtasks do every few seconds.</Empty>
          ) : (
            <Table size="small">
              <TableHead>
                <TableRow>
                  <TableCell>Subtask</TableCell><TableCell>Backpressure</TableCell><TableCell align="right">Busy</TableCell><TableCell align="right">Idle</TableCell>
                  <TableCell align="right">Back-pressured</TableCell><TableCell align="right">Queued</TableCell><TableCell align="right">In</TableCell><TableCell align="right">Out</TableCell>
                </TableRow>
              </TableHead>
              <TableBody>
                {subtasks.map((one) => {
                  const level = one.backpressure.at(-1);
                  return (
                    <TableRow key={`${one.chain}.${one.index}`}>
                      <TableCell>{one.operators.map(({ name }) => name).join(' → ') || `chain ${one.chain}`} [{one.index}]</TableCell>
                      <TableCell>{level && <State of="backpressure" is={level} />}</TableCell>
                      {[one.busy_ms_per_s, one.idle_ms_per_s, one.backpressured_ms_per_s, one.queued_ms_per_s].map((series, at) => (
                        <TableCell key={at} align="right">{percent((series.at(-1) ?? 0) / 1000)}</TableCell>
                      ))}
                      <TableCell align="right">{perSecond(one.records_in_per_s.at(-1))}</TableCell>
                      <TableCell align="right">{perSecond(one.records_out_per_s.at(-1))}</TableCell>
                    </TableRow>
                  );
                })}
              </TableBody>
            </Table>
          )
        }
      </Answered>
    </Panel>
  );
}
