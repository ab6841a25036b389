import { memo, useCallback, useState } from 'react';

import { bytes, count, duration } from '../../../format';
import { LongTable, type Column } from '../../../shared/LongTable';
import { StateChip } from '../../../shared/StateChip';
import { useIncrementalList } from '../../../shared/incrementalList';
import { isEqualRow, type OperatorRow, type SubtaskRow } from './operatorRows';

const COLUMNS: readonly Column[] = [
  { ariaLabel: 'Subtasks', width: '44px' }, { title: 'Operator', width: 'minmax(140px, 1fr)' }, { title: 'Acknowledged', width: '110px' },
  ...['Duration', 'Start delay', 'Alignment', 'Sync', 'Async', 'State size'].map((title) => ({ title, width: 'minmax(78px, 91px)', number: true })),
  { ariaLabel: 'Stragglers', width: '128px' },
];
/** The number of rows that are rendered in one animation frame. */
const ROWS_AT_ONCE = 15;

/** A table with the longest durations of each operator. The subtasks of an operator are in expandable rows. */
export function OperatorTable({ rows }: { rows: readonly OperatorRow[] }) {
  const shown = useIncrementalList(rows, ROWS_AT_ONCE, isEqualRow);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = useCallback(
    (chain: number): void => setOpen((before) => new Set(before.has(chain) ? [...before].filter((one) => one !== chain) : [...before, chain])),
    [],
  );
  return (
    <LongTable columns={COLUMNS}>
      {/* The React key is the position of the row. The operator would not be a unique key: until all rows are updated, an old row and a new row can show the same operator. */}
      {shown.map((row, place) => <OperatorRows key={place} of={row} open={open.has(row.chain)} onToggle={toggle} />)}
    </LongTable>
  );
}

const OperatorRows = memo(function OperatorRows({ of, open, onToggle }: { of: OperatorRow; open: boolean; onToggle: (chain: number) => void }) {
  return (
    <>
      <div role="row">
        <div role="cell">
          <button type="button" className="open" aria-expanded={open} aria-label={`Subtasks of ${of.name}`} onClick={() => onToggle(of.chain)}>
            <svg viewBox="0 0 24 24" width={18} height={18} aria-hidden><path d={open ? UP : DOWN} /></svg>
          </button>
        </div>
        <div role="rowheader" className="name" title={of.name}>{of.name}</div>
        <div role="cell">{of.acknowledged} of {of.subtasks.length}</div>
        <Numbers of={of} />
        <div role="cell">{of.stragglers > 0 && <StateChip kind="backpressure" state="high" label={`${count(of.stragglers)} straggler${of.stragglers > 1 ? 's' : ''}`} />}</div>
      </div>
      {open && of.subtasks.map((one) => (
        <div key={one.index} role="row" className="aside">
          <div role="cell" />
          <div role="rowheader" className="deeper">subtask {one.index}</div>
          <div role="cell">{one.acknowledged ? 'yes' : 'no'}</div>
          <Numbers of={one} />
          <div role="cell">{one.straggler && <StateChip kind="backpressure" state="high" label="straggler" />}</div>
        </div>
      ))}
    </>
  );
});

const DOWN = 'M16.59 8.59 12 13.17 7.41 8.59 6 10l6 6 6-6z';
const UP = 'M12 8l-6 6 1.41 1.41L12 10.83l4.59 4.58L18 14z';

function Numbers({ of }: { of: OperatorRow | SubtaskRow }) {
  return (
    <>
      {[of.tookMs, of.startDelayMs, of.alignmentMs, of.syncMs, of.asyncMs].map((ms, place) => <div key={place} role="cell" className="number">{duration(ms)}</div>)}
      <div role="cell" className="number">{bytes(of.stateBytes)}</div>
    </>
  );
}
