import { memo, useCallback, useState } from 'react';

import { bytes, count, duration } from '../../../format';
import { PlainTable } from '../../../shared/PlainTable';
import { State } from '../../../shared/State';
import { useGradual } from '../../../shared/useGradual';
import { looksLike, type OperatorRow, type SubtaskRow } from './operators';

/** In each frame of the browser so many rows are drawn anew. */
const ROWS_AT_ONCE = 15;

/** What each operator took at most, and its subtasks behind that. */
export function Operators({ rows }: { rows: readonly OperatorRow[] }) {
  const shown = useGradual(rows, ROWS_AT_ONCE, looksLike);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = useCallback(
    (chain: number): void => setOpen((before) => new Set(before.has(chain) ? [...before].filter((one) => one !== chain) : [...before, chain])),
    [],
  );
  return (
    <PlainTable>
      <thead>
        <tr>
          <th scope="col" aria-label="Subtasks" className="narrow" />
          <th scope="col">Operator</th><th scope="col">Acknowledged</th>
          {['Took', 'Start delay', 'Alignment', 'Sync', 'Async', 'State'].map((name) => <th key={name} scope="col" className="number">{name}</th>)}
          <td />
        </tr>
      </thead>
      <tbody>
        {/* By their place: while they come there may be one of before and the same anew. */}
        {shown.map((row, place) => <Operator key={place} of={row} open={open.has(row.chain)} onToggle={toggle} />)}
      </tbody>
    </PlainTable>
  );
}

const Operator = memo(function Operator({ of, open, onToggle }: { of: OperatorRow; open: boolean; onToggle: (chain: number) => void }) {
  return (
    <>
      <tr>
        <td className="narrow">
          <button type="button" className="open" aria-expanded={open} aria-label={`Subtasks of ${of.name}`} onClick={() => onToggle(of.chain)}>
            <svg viewBox="0 0 24 24" width={18} height={18} aria-hidden><path d={open ? UP : DOWN} /></svg>
          </button>
        </td>
        <th scope="row">{of.name}</th>
        <td>{of.acknowledged} of {of.subtasks.length}</td>
        <Numbers of={of} />
        <td>{of.stragglers > 0 && <State of="backpressure" is="high" label={`${count(of.stragglers)} straggler${of.stragglers > 1 ? 's' : ''}`} />}</td>
      </tr>
      {open && of.subtasks.map((one) => (
        <tr key={one.index} className="aside">
          <td />
          <td className="deeper">subtask {one.index}</td>
          <td>{one.acknowledged ? 'yes' : 'not yet'}</td>
          <Numbers of={one} />
          <td>{one.straggler && <State of="backpressure" is="high" label="straggler" />}</td>
        </tr>
      ))}
    </>
  );
});

const DOWN = 'M16.59 8.59 12 13.17 7.41 8.59 6 10l6 6 6-6z';
const UP = 'M12 8l-6 6 1.41 1.41L12 10.83l4.59 4.58L18 14z';

function Numbers({ of }: { of: OperatorRow | SubtaskRow }) {
  return (
    <>
      {[of.tookMs, of.startDelayMs, of.alignmentMs, of.syncMs, of.asyncMs].map((ms, place) => <td key={place} className="number">{duration(ms)}</td>)}
      <td className="number">{bytes(of.stateBytes)}</td>
    </>
  );
}
