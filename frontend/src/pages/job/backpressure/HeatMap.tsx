import { Box, Link, useTheme } from '@mui/material';
import { memo, useMemo, type Ref } from 'react';

import './heatMap.css';
import { shade } from '../../../theme/colours';
import type { Mode } from '../../../theme/states';
import { LongTable, type Column } from '../../../shared/LongTable';
import { StateChip } from '../../../shared/StateChip';
import { useIncrementalList } from '../../../shared/incrementalList';
import type { Selection } from './selection';
import { LABELS, toneOfMeasure, type HeatRow, type Measure } from './heatRows';

interface Props {
  rows: readonly HeatRow[];
  measure: Measure;
  chosen: Selection | null;
  onChoose: (chosen: Selection) => void;
  /** The scrolling container. */
  ref: Ref<HTMLDivElement>;
}

/** The number of operators that are rendered in one animation frame. */
const ROWS_AT_ONCE = 8;

/** A heat map with a row per operator and a cell per subtask. The selected metric determines the colour of a cell. */
export function HeatMap({ rows, measure, chosen, onChoose, ref }: Props) {
  const { palette: { mode, text } } = useTheme();
  // Each row stores the metric that it shows. Rows are updated a few at a time, so some rows can still show the previous metric.
  const measured = useMemo(() => rows.map((row) => ({ row, measure })), [rows, measure]);
  const shown = useIncrementalList(measured, ROWS_AT_ONCE);
  const colours = { '--weir-cell-text': shade('waiting', 0, mode).text, '--weir-cell-edge': shade('waiting', 0.4, mode).ground, '--weir-cell-pressed': text.primary };
  const columns: Column[] = [{ title: 'Operator', width: '30%' }, { title: 'Level', width: '90px' }, { title: `${LABELS[measure]}, by subtask`, width: 'minmax(0, 1fr)' }];
  return (
    // The table scrolls, so that users can reach the charts below the table even if there are hundreds of operators.
    <Box ref={ref} className="weir-heat" role="region" aria-label="Operators and their subtasks" tabIndex={0} sx={SCROLLED} style={colours as object}>
      <LongTable columns={columns}>
        {/* The React key is the position of the row. The operator would not be a unique key: until all rows are updated, an old row and a new row can show the same operator. */}
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
  /** Whether the operator or one of its subtasks is selected. `index`: the index of the selected subtask, or null. */
  chosen: boolean;
  index: number | null;
  onChoose: (chosen: Selection) => void;
}

const Row = memo(function Row({ row: { chain, name, level, cells }, measure, mode, chosen, index: pressed, onChoose }: RowProps) {
  const tone = toneOfMeasure(measure);
  const label = LABELS[measure].toLowerCase();
  return (
    <div role="row" className={chosen ? 'chosen' : undefined}>
      <div role="rowheader">
        <Link component="button" type="button" aria-pressed={chosen && pressed === null} onClick={() => onChoose({ chain, index: null })} sx={NAME}>{name}</Link>
      </div>
      <div role="cell">{level && <StateChip kind="backpressure" state={level} />}</div>
      <div role="cell" className="cells">
        {cells.map(({ index, heat, text }) => (
          <button
            key={index}
            type="button"
            aria-pressed={chosen && pressed === index}
            aria-label={`${name} [${index}]: ${text} ${label}`}
            title={`[${index}] ${text}`}
            onClick={() => onChoose({ chain, index })}
            style={{ backgroundColor: shade(tone, heat, mode).ground }}
          >
            {text}
          </button>
        ))}
      </div>
    </div>
  );
});

const SCROLLED = {
  maxHeight: 'max(260px, calc(100vh - 520px))', overflow: 'auto', '& .head': { position: 'sticky', top: 0, zIndex: 1, backgroundColor: 'background.paper' },
  // The focus outline is inside the region, because the panel would clip an outline outside the region.
  '&:focus-visible': { outlineOffset: '-2px' },
} as const;
const NAME = { textAlign: 'left', overflowWrap: 'anywhere' } as const;
