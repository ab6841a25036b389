import { Box, ButtonBase, Link, Table, TableBody, TableCell, TableHead, TableRow, useTheme } from '@mui/material';

import { shade } from '../../../look/shade';
import { State } from '../../../shared/State';
import { LABELS, toneOfMeasure, type HeatRow, type Measure } from './heat';

/** Which operator is looked at, and which of its subtasks; null: all of them together. */
export interface Chosen {
  chain: number;
  index: number | null;
}

/** A row an operator, a cell a subtask: the stronger its colour the more of what is measured. */
export function HeatMap({ rows, measure, chosen, onChoose }: { rows: readonly HeatRow[]; measure: Measure; chosen: Chosen | null; onChoose: (chosen: Chosen) => void }) {
  const { palette: { mode, text } } = useTheme();
  const tone = toneOfMeasure(measure);
  return (
    <Table size="small">
      <TableHead>
        <TableRow><TableCell sx={{ width: '30%' }}>Operator</TableCell><TableCell sx={{ width: 80 }}>Level</TableCell><TableCell>{LABELS[measure]}, by subtask</TableCell></TableRow>
      </TableHead>
      <TableBody>
        {rows.map(({ chain, name, level, cells }) => (
          <TableRow key={chain} selected={chosen?.chain === chain}>
            <TableCell component="th" scope="row">
              <Link component="button" type="button" aria-pressed={chosen?.chain === chain && chosen.index === null} onClick={() => onChoose({ chain, index: null })} sx={{ textAlign: 'left' }}>
                {name}
              </Link>
            </TableCell>
            <TableCell>{level && <State of="backpressure" is={level} />}</TableCell>
            <TableCell>
              <Box sx={{ display: 'flex', flexWrap: 'wrap', gap: '3px' }}>
                {cells.map(({ index, heat, said }) => {
                  const { ground, text: ink } = shade(tone, heat, mode);
                  const pressed = chosen?.chain === chain && chosen.index === index;
                  return (
                    <ButtonBase
                      key={index}
                      aria-pressed={pressed}
                      aria-label={`${name} [${index}]: ${said} ${LABELS[measure].toLowerCase()}`}
                      title={`[${index}] ${said}`}
                      onClick={() => onChoose({ chain, index })}
                      style={{ backgroundColor: ground, color: ink, boxShadow: pressed ? `0 0 0 2px ${text.primary}` : `inset 0 0 0 1px ${shade('waiting', 0.4, mode).ground}` }}
                      sx={{ minWidth: 46, height: 22, px: 0.5, borderRadius: '3px', fontSize: '0.72rem', fontFamily: 'inherit', fontVariantNumeric: 'tabular-nums' }}
                    >
                      {said}
                    </ButtonBase>
                  );
                })}
              </Box>
            </TableCell>
          </TableRow>
        ))}
      </TableBody>
    </Table>
  );
}
