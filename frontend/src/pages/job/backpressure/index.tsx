import { Alert, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useSearchParams } from 'react-router-dom';

import { EmptyState, LoadingState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { useCheckpointDetails } from '../checkpoints/useCheckpoints';
import { reportsMetrics } from '../overview/graph/chainMetrics';
import { parseGraph } from '../physicalGraph';
import { useDeployedRun, useGraph, useJob } from '../useJob';
import { HeatMap } from './HeatMap';
import { alignmentRows, deployedSubtasks, emptyRows, LABELS, sortRows, timeRows, TIMES, type HeatRow, type Measure } from './heatRows';
import { OperatorCharts } from './OperatorCharts';
import { parseSelection, withSelection, type Selection } from './selection';
import { useCurrentMetrics } from './useMetrics';
import { useOperatorOrder, type OrderBy } from './useOperatorOrder';

const MEASURES: readonly Measure[] = [...TIMES, 'alignment'];
const ORDERS: Record<OrderBy, string> = { worst: 'Worst first', graph: 'Graph order' };
const NONE: readonly never[] = [];

export default function Backpressure() {
  const { state, last_checkpoint: completed } = useJob();
  const [measure, setMeasure] = useState<Measure>('backpressured');
  const running = reportsMetrics(state);
  const query = useCurrentMetrics(running);
  const { data: last } = useCheckpointDetails(measure === 'alignment' && completed ? { id: completed.id, state: 'COMPLETED' } : null);
  const aligned = last?.statistics.chains;
  const { data: deployed, isLoading: isAsking } = useGraph(useDeployedRun());
  const { chains, edges } = useMemo(() => parseGraph(deployed?.graph ?? {}), [deployed]);
  const samples = running ? query.data?.subtasks : NONE;
  const subtasks = useMemo(() => deployedSubtasks(samples ?? NONE, chains), [samples, chains]);
  const stopped = samples !== undefined && subtasks.length === 0;
  const map = useRef<HTMLDivElement>(null);
  const order = useOperatorOrder(subtasks, map);
  const rows = useMemo(() => {
    if (measure === 'alignment') return alignmentRows(aligned ?? [], subtasks);
    // A stopped job has rows without cells, so that users can select an operator and see its past metrics in the charts.
    return stopped ? emptyRows(chains) : timeRows(subtasks, measure);
  }, [measure, subtasks, aligned, stopped, chains]);
  const ordered = useMemo(() => sortRows(rows, order.chains), [rows, order.chains]);
  const [selected, choose] = useSelection();
  // The default operator is selected only once, when the page opens. If it followed the metrics, the charts would often switch to another operator.
  const [first, setFirst] = useState<number | null>(null);
  if (first === null && samples !== undefined && ordered.length > 0) setFirst(ordered[0]!.chain);
  const chosen = useMemo(() => existing(selected, rows) ?? (first === null ? null : { chain: first, index: null }), [selected, rows, first]);
  const name = rows.find(({ chain }) => chain === chosen?.chain)?.name;
  const source = chains.some(({ index }) => index === chosen?.chain) && !edges.some(({ target, feedback }) => target === chosen?.chain && !feedback);
  const shown =
    rows.length === 0 && isAsking ? (
      <LoadingState height={220} />
    ) : rows.length === 0 ? (
      measure === 'alignment' ? (
        <EmptyState title="No completed checkpoints yet">Alignment is measured during checkpoints.</EmptyState>
      ) : (
        <EmptyState title="No current metrics">A running job reports metrics every few seconds.</EmptyState>
      )
    ) : (
      <>
        {stopped && measure !== 'alignment' && <Alert severity="info" sx={{ mx: 2, mb: 1 }}>No current metrics. The charts below show metrics of the last day.</Alert>}
        <HeatMap ref={map} rows={ordered} measure={measure} chosen={chosen} onChoose={choose} />
      </>
    );
  return (
    <>
      <Panel
        title={measure === 'alignment' && last ? `Subtasks in checkpoint ${last.number}` : 'Subtasks now'}
        flush
        actions={
          <>
            <ToggleButtonGroup size="small" exclusive aria-label="Order of operators" value={order.by} onChange={(_, by: OrderBy | null) => order.orderBy(by ?? order.by)}>
              {Object.entries(ORDERS).map(([by, label]) => <ToggleButton key={by} value={by} sx={{ py: 0.25 }}>{label}</ToggleButton>)}
            </ToggleButtonGroup>
            <ToggleButtonGroup size="small" exclusive aria-label="Metric" value={measure} onChange={(_, one: Measure | null) => setMeasure(one ?? measure)}>
              {MEASURES.map((one) => <ToggleButton key={one} value={one} sx={{ py: 0.25 }}>{LABELS[one]}</ToggleButton>)}
            </ToggleButtonGroup>
          </>
        }
      >
        {running ? <QueryContent query={query} height={220}>{() => shown}</QueryContent> : shown}
      </Panel>
      {chosen && <OperatorCharts key={chosen.chain} chosen={chosen} name={name ?? `chain ${chosen.chain}`} measure={measure === 'alignment' ? 'backpressured' : measure} source={source} />}
    </>
  );
}

/** Return the selection if its operator and subtask are in the current graph, else null. */
function existing(selected: Selection | null, rows: readonly HeatRow[]): Selection | null {
  const row = rows.find(({ chain }) => chain === selected?.chain);
  if (!selected || (!row && rows.length > 0)) return null;
  return row && row.cells.length > 0 && !row.cells.some(({ index }) => index === selected.index) ? { ...selected, index: null } : selected;
}

/**
 * Return the selection in the URL, and its setter. The setter is the same function in every render, because a new setter would render all cells
 * again.
 */
function useSelection(): [Selection | null, (chosen: Selection) => void] {
  const [params, setParams] = useSearchParams();
  const latest = useRef({ params, setParams });
  useEffect(() => {
    latest.current = { params, setParams };
  }, [params, setParams]);
  const choose = useCallback((chosen: Selection): void => {
    const before = latest.current.params;
    const after = withSelection(before, chosen);
    // Selecting the same subtask again adds no entry to the browser history.
    latest.current.setParams(after, { replace: after.toString() === before.toString() });
  }, []);
  return [useMemo(() => parseSelection(params), [params]), choose];
}
