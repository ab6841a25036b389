import './heat.css';

import { Box, Link, useTheme } from '@mui/material';
import { memo, useMemo, type Ref } from 'react';

import { shade } from '../../../look/shade';
import type { Mode } from '../../../look/states';
import { LongTable, type Column } from '../../../shared/LongTable';
import { State } from '../../../shared/State';
import { useGradual } from '../../../shared/useGradual';
import type { Chosen } from './address';
import { LABELS, toneOfMeasure, type HeatRow, type Measure } from './heat';

interface Props {
  rows: readonly HeatRow[];
  measure: Measure;
  chosen: Chosen | null;
  onChoose: (chosen: Chosen) => void;
  /** What scrolls, of many operators. */
  ref: Ref<HTMLDivElement>;
}

/** In each frame of the browser so many operators are drawn anew. */
const ROWS_AT_ONCE = 8;

/** A row an operator, a cell a subtask: the stronger its colour the more of what is measured. */
export function HeatMap({ rows, measure, chosen, onChoose, ref }: Props) {
  const { palette: { mode, text } } = useTheme();
  // What is measured belongs to its row: for some frames there are rows of what was shown before.
  const measured = useMemo(() => rows.map((row) => ({ row, measure })), [rows, measure]);
  const shown = useGradual(measured, ROWS_AT_ONCE);
  const colours = { '--weir-cell-text': shade('waiting', 0, mode).text, '--weir-cell-edge': shade('waiting', 0.4, mode).ground, '--weir-cell-pressed': text.primary };
  const columns: Column[] = [{ title: 'Operator', width: '30%' }, { title: 'Level', width: '90px' }, { title: `${LABELS[measure]}, by subtask`, width: 'minmax(0, 1fr)' }];
  return (
    // Of two hundred operators it would be seven screens long, and what is chosen in it is shown below.
    <Box ref={ref} className="weir-heat" role="region" aria-label="Operators and their subtasks" tabIndex={0} sx={SCROLLED} style={colours as object}>
      <LongTable columns={columns}>
        {/* By their place: while they come there may be one of before and the same anew. */}
        {shown.map(({ row, measure: of }, place) => (
          <Row key={place} row={row} measure={of} mode={mode} chosen={chosen?.chain === row.chain} index={chosen?.chain === row.chain ? chosen.index : null} onChoose={onChoose} />
        ))}
      </LongTable>
    </Box>
  );
}

interface RowProps {
  row: HeatRow;
  measure: Measure;
  mode: Mode;
  /** It is looked at: all of it, or the subtask `index`. */
  chosen: boolean;
  index: number | null;
  onChoose: (chosen: Chosen) => void;
}

const Row = memo(function Row({ row: { chain, name, level, cells }, measure, mode, chosen, index: pressed, onChoose }: RowProps) {
  const tone = toneOfMeasure(measure);
  const label = LABELS[measure].toLowerCase();
  return (
    <div role="row" className={chosen ? 'chosen' : undefined}>
      <div role="rowheader">
        <Link component="button" type="button" aria-pressed={chosen && pressed === null} onClick={() => onChoose({ chain, index: null })} sx={NAME}>{name}</Link>
      </div>
      <div role="cell">{level && <State of="backpressure" is={level} />}</div>
      <div role="cell" className="cells">
        {cells.map(({ index, heat, said }) => (
          <button
            key={index}
            type="button"
            aria-pressed={chosen && pressed === index}
            aria-label={`${name} [${index}]: ${said} ${label}`}
            title={`[${index}] ${said}`}
            onClick={() => onChoose({ chain, index })}
            style={{ backgroundColor: shade(tone, heat, mode).ground }}
          >
            {said}
          </button>
        ))}
      </div>
    </div>
  );
});

const SCROLLED = {
  maxHeight: 'max(260px, calc(100vh - 520px))', overflow: 'auto', '& .head': { position: 'sticky', top: 0, zIndex: 1, backgroundColor: 'background.paper' },
  // It fills its panel, which would cut off a ring around it.
  '&:focus-visible': { outlineOffset: '-2px' },
} as const;
const NAME = { textAlign: 'left', overflowWrap: 'anywhere' } as const;
