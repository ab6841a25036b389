import { Box, IconButton, Table, TableBody, TableCell, TableHead, TableRow } from '@mui/material';
import ExpandLess from '@mui/icons-material/ExpandLess';
import ExpandMore from '@mui/icons-material/ExpandMore';
import { Fragment, useState } from 'react';

import { bytes, count, duration } from '../../../format';
import { State } from '../../../shared/State';
import type { OperatorRow, SubtaskRow } from './operators';

/** What each operator took at most, and its subtasks behind that. */
export function Operators({ rows }: { rows: readonly OperatorRow[] }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = (chain: number): void => setOpen((before) => new Set(before.has(chain) ? [...before].filter((one) => one !== chain) : [...before, chain]));
  return (
    <Table size="small">
      <TableHead>
        <TableRow>
          <TableCell padding="checkbox" aria-label="Subtasks" />
          <TableCell>Operator</TableCell><TableCell>Acknowledged</TableCell>
          {['Took', 'Start delay', 'Alignment', 'Sync', 'Async', 'State'].map((name) => <TableCell key={name} align="right">{name}</TableCell>)}
          <TableCell />
        </TableRow>
      </TableHead>
      <TableBody>
        {rows.map((row) => (
          <Fragment key={row.chain}>
            <TableRow>
              <TableCell padding="checkbox">
                <IconButton size="small" aria-expanded={open.has(row.chain)} aria-label={`Subtasks of ${row.name}`} onClick={() => toggle(row.chain)}>
                  {open.has(row.chain) ? <ExpandLess fontSize="inherit" /> : <ExpandMore fontSize="inherit" />}
                </IconButton>
              </TableCell>
              <TableCell component="th" scope="row">{row.name}</TableCell>
              <TableCell>{row.acknowledged} of {row.subtasks.length}</TableCell>
              <Numbers of={row} />
              <TableCell>{row.stragglers > 0 && <State of="backpressure" is="high" label={`${count(row.stragglers)} straggler${row.stragglers > 1 ? 's' : ''}`} />}</TableCell>
            </TableRow>
            {open.has(row.chain) && row.subtasks.map((one) => (
              <TableRow key={one.index} sx={{ backgroundColor: 'action.hover' }}>
                <TableCell />
                <TableCell><Box sx={{ pl: 1.5 }}>subtask {one.index}</Box></TableCell>
                <TableCell>{one.acknowledged ? 'yes' : 'not yet'}</TableCell>
                <Numbers of={one} />
                <TableCell>{one.straggler && <State of="backpressure" is="high" label="straggler" />}</TableCell>
              </TableRow>
            ))}
          </Fragment>
        ))}
      </TableBody>
    </Table>
  );
}

function Numbers({ of }: { of: OperatorRow | SubtaskRow }) {
  return (
    <>
      {[of.tookMs, of.startDelayMs, of.alignmentMs, of.syncMs, of.asyncMs].map((ms, place) => <TableCell key={place} align="right">{duration(ms)}</TableCell>)}
      <TableCell align="right">{bytes(of.stateBytes)}</TableCell>
    </>
  );
}
