import { Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';

import { percent } from '../../../format';
import { site, type FunctionRow } from './flameTree';

const ROWS_MAX = 20;

/** The functions with the most samples of their own. The table has the same information as the flame graph, as text. */
export function FunctionTable({ rows, samples }: { rows: readonly FunctionRow[]; samples: number }) {
  return (
    <Table size="small" aria-label="Top functions">
      <TableHead>
        <TableRow><TableCell>Function</TableCell><TableCell>Line</TableCell><TableCell align="right">Self</TableCell><TableCell align="right">Total</TableCell></TableRow>
      </TableHead>
      <TableBody>
        {rows.slice(0, ROWS_MAX).map((row) => (
          <TableRow key={row.key}>
            <TableCell component="th" scope="row" sx={{ overflowWrap: 'anywhere' }}><code>{row.name}</code></TableCell>
            <TableCell sx={{ overflowWrap: 'anywhere' }}>{site(row)}</TableCell>
            <TableCell align="right">{percent(row.self / samples)}</TableCell>
            <TableCell align="right">{percent(row.total / samples)}</TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}
