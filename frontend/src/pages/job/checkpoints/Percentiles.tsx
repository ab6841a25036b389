import { Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';

import type { Schemas } from '../../../api/types';
import { bytes, count, duration } from '../../../format';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { summarize, type Summary } from '../../../shared/statistics';
import { useCheckpointSeries, useCheckpointSummary } from './useCheckpoints';

const COLUMNS: readonly [keyof Summary, string][] = [
  ['min', 'Min'], ['avg', 'Average'], ['p50', 'p50'], ['p90', 'p90'], ['p95', 'p95'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'Max'],
];

/** Shows percentiles of the durations and sizes of the last completed checkpoints. */
export function Percentiles() {
  const query = useCheckpointSummary();
  return <QueryContent query={query}>{(summary) => <Statistics of={summary} />}</QueryContent>;
}

function Statistics({ of }: { of: Schemas['CheckpointOverviewRead'] }) {
  const { data: series } = useCheckpointSeries();
  const alignments = (series?.checkpoints ?? []).flatMap(({ alignment_ms }) => (alignment_ms === null ? [] : [alignment_ms]));
  const rows: [string, Summary | null, (value: number) => string][] = [
    ['End-to-end duration', of.end_to_end_duration, duration],
    ['Alignment, slowest subtask', summarize(alignments), duration],
    ['Checkpointed size', of.checkpointed_size, bytes],
    ['State size', of.state_size, bytes],
  ];
  return (
    <Panel title={of.summarized === 0 ? 'Statistics' : `Statistics of the last ${count(of.summarized)} completed`} flush>
      {of.summarized === 0 ? (
        <EmptyState title="No completed checkpoints yet">Statistics appear here after the first completed checkpoint.</EmptyState>
      ) : (
        <Table size="small">
          <TableHead>
            <TableRow><TableCell />{COLUMNS.map(([key, label]) => <TableCell key={key} align="right">{label}</TableCell>)}</TableRow>
          </TableHead>
          <TableBody>
            {rows.map(([name, summary, format]) => (
              <TableRow key={name}>
                <TableCell component="th" scope="row">{name}</TableCell>
                {COLUMNS.map(([key]) => <TableCell key={key} align="right">{format(summary?.[key] ?? Number.NaN)}</TableCell>)}
              </TableRow>
            ))}
          </TableBody>
        </Table>
      )}
    </Panel>
  );
}
