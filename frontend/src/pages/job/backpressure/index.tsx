import { Alert, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useSearchParams } from 'react-router-dom';

import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty, Waiting } from '../../../shared/Standins';
import { useDeployedRun, useGraph } from '../useGraph';
import { useJob } from '../useJob';
import { useDetail } from '../checkpoints/useDetail';
import { isMeasured } from '../overview/figures';
import { graphOf } from '../overview/graph';
import { chosenIn, withChosen, type Chosen } from './address';
import { deployedOf, heatOfAlignment, heatOfNothing, heatOfTime, inOrder, LABELS, TIMES, type HeatRow, type Measure } from './heat';
import { HeatMap } from './HeatMap';
import { Operator } from './Operator';
import { useNowMetrics } from './useMetrics';
import { useOrder, type OrderedBy } from './useOrder';

const MEASURES: readonly Measure[] = [...TIMES, 'alignment'];
const ORDERS: Record<OrderedBy, string> = { worst: 'Worst first', graph: 'In the order of the graph' };
const NONE: readonly never[] = [];

export default function Backpressure() {
  const { state, last_checkpoint: completed } = useJob();
  const [measure, setMeasure] = useState<Measure>('backpressured');
  const running = isMeasured(state);
  const query = useNowMetrics(running);
  const { data: last } = useDetail(measure === 'alignment' && completed ? { id: completed.id, state: 'COMPLETED' } : null);
  const aligned = last?.statistics.chains;
  const { data: deployed, isLoading: isAsking } = useGraph(useDeployedRun());
  const { chains, edges } = useMemo(() => graphOf(deployed?.graph ?? {}), [deployed]);
  const told = running ? query.data?.subtasks : NONE;
  const subtasks = useMemo(() => deployedOf(told ?? NONE, chains), [told, chains]);
  const rests = told !== undefined && subtasks.length === 0;
  const map = useRef<HTMLDivElement>(null);
  const order = useOrder(subtasks, map);
  const rows = useMemo(() => {
    if (measure === 'alignment') return heatOfAlignment(aligned ?? [], subtasks);
    // Of a job that rests there is a past to look at.
    return rests ? heatOfNothing(chains) : heatOfTime(subtasks, measure);
  }, [measure, subtasks, aligned, rests, chains]);
  const ordered = useMemo(() => inOrder(rows, order.chains), [rows, order.chains]);
  const [asked, choose] = useChosen();
  // Who is held up most when the page is opened: it would jump if it followed that.
  const [first, setFirst] = useState<number | null>(null);
  if (first === null && told !== undefined && ordered.length > 0) setFirst(ordered[0]!.chain);
  const chosen = useMemo(() => existing(asked, rows) ?? (first === null ? null : { chain: first, index: null }), [asked, rows, first]);
  const name = rows.find(({ chain }) => chain === chosen?.chain)?.name;
  const source = chains.some(({ index }) => index === chosen?.chain) && !edges.some(({ target, feedback }) => target === chosen?.chain && !feedback);
  const shown =
    rows.length === 0 && isAsking ? (
      <Waiting height={220} />
    ) : rows.length === 0 ? (
      measure === 'alignment' ? (
        <Empty title="No checkpoint has completed yet">How long alignment takes is measured by checkpoints.</Empty>
      ) : (
        <Empty title="Nothing is measured just now">A running job tells what its subtasks do every few seconds.</Empty>
      )
    ) : (
      <>
        {rests && measure !== 'alignment' && <Alert severity="info" sx={{ mx: 2, mb: 1 }}>Nothing is measured just now. What was measured in the last day is shown below.</Alert>}
        <HeatMap ref={map} rows={ordered} measure={measure} chosen={chosen} onChoose={choose} />
      </>
    );
  return (
    <>
      <Panel
        title={measure === 'alignment' && last ? `Subtasks, in checkpoint ${last.number}` : 'Subtasks, now'}
        flush
        actions={
          <>
            <ToggleButtonGroup size="small" exclusive aria-label="Order of operators" value={order.by} onChange={(_, by: OrderedBy | null) => order.orderBy(by ?? order.by)}>
              {Object.entries(ORDERS).map(([by, label]) => <ToggleButton key={by} value={by} sx={{ py: 0.25 }}>{label}</ToggleButton>)}
            </ToggleButtonGroup>
            <ToggleButtonGroup size="small" exclusive aria-label="What is shown" value={measure} onChange={(_, one: Measure | null) => setMeasure(one ?? measure)}>
              {MEASURES.map((one) => <ToggleButton key={one} value={one} sx={{ py: 0.25 }}>{LABELS[one]}</ToggleButton>)}
            </ToggleButtonGroup>
          </>
        }
      >
        {running ? <Answered query={query} height={220}>{() => shown}</Answered> : shown}
      </Panel>
      {chosen && <Operator key={chosen.chain} chosen={chosen} name={name ?? `chain ${chosen.chain}`} measure={measure === 'alignment' ? 'backpressured' : measure} source={source} />}
    </>
  );
}

/** Null if it is not there: an address may be older than the graph. */
function existing(asked: Chosen | null, rows: readonly HeatRow[]): Chosen | null {
  const row = rows.find(({ chain }) => chain === asked?.chain);
  if (!asked || (!row && rows.length > 0)) return null;
  return row && row.cells.length > 0 && !row.cells.some(({ index }) => index === asked.index) ? { ...asked, index: null } : asked;
}

/** Who is looked at by the address. What chooses stays the same function: each of thousands of cells has it. */
function useChosen(): [Chosen | null, (chosen: Chosen) => void] {
  const [params, setParams] = useSearchParams();
  const latest = useRef({ params, setParams });
  useEffect(() => {
    latest.current = { params, setParams };
  }, [params, setParams]);
  const choose = useCallback((chosen: Chosen): void => {
    const before = latest.current.params;
    const after = withChosen(before, chosen);
    // To choose the same again is not a step that anybody would go back.
    latest.current.setParams(after, { replace: after.toString() === before.toString() });
  }, []);
  return [useMemo(() => chosenIn(params), [params]), choose];
}
