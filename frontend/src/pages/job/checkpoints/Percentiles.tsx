import { Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';

import type { Schemas } from '../../../api/types';
import { bytes, count, duration } from '../../../format';
import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { summaryOf, type Summary } from '../../../shared/statistics';
import { useSeries, useSummary } from './useSeries';

const COLUMNS: readonly [keyof Summary, string][] = [
  ['min', 'Min'], ['avg', 'Average'], ['p50', 'p50'], ['p90', 'p90'], ['p95', 'p95'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'Max'],
];

/** How long the last ones took, and how large they were. */
export function Percentiles() {
  const query = useSummary();
  return <Answered query={query}>{(summary) => <OfLast of={summary} />}</Answered>;
}

function OfLast({ of }: { of: Schemas['JobSummaryBody'] }) {
  const { data: series } = useSeries();
  const alignments = (series?.checkpoints ?? []).flatMap(({ alignment_ms }) => (alignment_ms === null ? [] : [alignment_ms]));
  const rows: [string, Summary | null, (value: number) => string][] = [
    ['End to end', of.end_to_end_duration, duration],
    ['Alignment of the slowest subtask', summaryOf(alignments), duration],
    ['Checkpointed size', of.checkpointed_size, bytes],
    ['State size', of.state_size, bytes],
  ];
  return (
    <Panel title={of.over === 0 ? 'Summary' : `Summary of the last ${count(of.over)} completed`} flush>
      {of.over === 0 ? (
        <Empty title="None has completed yet">The first one comes an interval after the job has begun to run.</Empty>
      ) : (
        <Table size="small">
          <TableHead>
            <TableRow><TableCell />{COLUMNS.map(([key, label]) => <TableCell key={key} align="right">{label}</TableCell>)}</TableRow>
          </TableHead>
          <TableBody>
            {rows.map(([name, summary, said]) => (
              <TableRow key={name}>
                <TableCell component="th" scope="row">{name}</TableCell>
                {COLUMNS.map(([key]) => <TableCell key={key} align="right">{said(summary?.[key] ?? Number.NaN)}</TableCell>)}
              </TableRow>
            ))}
          </TableBody>
        </Table>
      )}
    </Panel>
  );
}
