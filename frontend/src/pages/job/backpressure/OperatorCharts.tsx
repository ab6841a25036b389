import { Box, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { pluralize, percent } from '../../../format';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { Chart } from '../../../shared/chart/Chart';
import { useChartTheme } from '../../../shared/chart/useChartTheme';
import { Panel } from '../../../shared/Panel';
import { chartLabel } from '../checkpoints/trends';
import { useCheckpointSeries } from '../checkpoints/useCheckpoints';
import { LABELS, TIMES, type Time } from './heatRows';
import type { Selection } from './selection';
import { alignmentChart, alignmentSeries, buildGrid, heatChart, meanTime, timeChart } from './timeCharts';
import { parseRange, RANGES, useMetrics, withRange } from './useMetrics';

interface Shown {
  chosen: Selection;
  name: string;
  measure: Time;
  /** Whether the operator is a source. */
  source: boolean;
}

/**
 * Charts of one operator: its busy, idle, backpressured and queued time, the selected metric by subtask, and its alignment. The time range is in the
 * URL, so that a link shows the same range.
 */
export function OperatorCharts({ chosen: { chain, index }, name, measure, source }: Shown) {
  const [params, setParams] = useSearchParams();
  const range = parseRange(params);
  const choose = (label: string | null): void => {
    const chosenRange = RANGES.find((one) => one.label === label);
    if (chosenRange) setParams((before) => withRange(before, chosenRange), { replace: true });
  };
  const query = useMetrics(range, chain);
  return (
    <Panel
      title={index === null ? name : `${name} [${index}]`}
      actions={
        <ToggleButtonGroup size="small" exclusive aria-label="Time range" value={range.label} onChange={(_, label: string | null) => choose(label)}>
          {RANGES.map(({ label }) => <ToggleButton key={label} value={label} sx={{ py: 0.25 }}>{label}</ToggleButton>)}
        </ToggleButtonGroup>
      }
    >
      <QueryContent query={query} height={420}>
        {({ subtasks, step_s }) => {
          const own = subtasks.filter((one) => one.chain === chain);
          return own.length === 0 ? (
            <EmptyState title={`No metrics in the last ${range.label}`}>Metrics are retained for one day.</EmptyState>
          ) : (
            <OverTime subtasks={own} index={index} stepS={step_s} measure={measure} range={range.label} />
          );
        }}
      </QueryContent>
      {source ? <EmptyState title="No alignment">Sources have no inputs to align.</EmptyState> : <Alignment chain={chain} index={index} />}
    </Panel>
  );
}

interface Props {
  subtasks: Schemas['SubtaskSeriesRead'][];
  index: number | null;
  stepS: number;
  measure: Time;
  range: string;
}

const ROW_HEIGHT = 18;

function OverTime({ subtasks, index, stepS, measure, range }: Props) {
  const ink = useChartTheme();
  const { spent, label } = useMemo(() => {
    const shown = subtasks.filter((one) => index === null || one.index === index);
    const lines = TIMES.map((time) => ({ name: LABELS[time], colour: '', points: meanTime(shown, time, stepS * 1000) }));
    return { spent: timeChart(shown, stepS, ink), label: chartLabel(`Busy, idle, backpressured and queued time in the last ${range}`, lines, (ms) => percent(ms / 1000)) };
  }, [subtasks, index, stepS, ink, range]);
  const heat = useMemo(() => heatChart(buildGrid(subtasks, measure, stepS * 1000), measure, ink), [subtasks, measure, stepS, ink]);
  return (
    <Box sx={{ display: 'grid', gridTemplateColumns: { xs: '1fr', md: '1fr 1fr' }, gap: 2 }}>
      <Chart title={index === null ? 'Busy, idle, backpressured and queued time (mean of all subtasks)' : `Busy, idle, backpressured and queued time (subtask ${index})`} label={label} option={spent} height={220} />
      <Chart
        title={`${LABELS[measure]}, by subtask`}
        label={`${LABELS[measure]} of ${pluralize(subtasks.length, 'subtask')} in the last ${range}. The table above shows the current values.`}
        option={heat}
        height={Math.max(220, subtasks.length * ROW_HEIGHT + 30)}
      />
    </Box>
  );
}

/** Alignment is measured once per checkpoint, so the alignment chart has a separate time axis. */
function Alignment({ chain, index }: Selection) {
  const ink = useChartTheme();
  const query = useCheckpointSeries(chain);
  const { data } = query;
  const found = useMemo(() => {
    if (!data || data.checkpoints.length === 0) return null;
    const part = alignmentSeries(data.phases, chain, index);
    const lines = [{ name: 'alignment', colour: '', points: data.checkpoints.map(({ number }, place): [number, number | null] => [number, part?.alignment_ms[place] ?? null]) }];
    return { option: alignmentChart(data, part, ink), label: chartLabel('Alignment', lines, (ms) => `${Math.round(ms)} ms`), over: data.checkpoints.length };
  }, [data, chain, index, ink]);
  return (
    <QueryContent query={query} height={190}>
      {() =>
        found === null ? (
          <EmptyState title="No completed checkpoints yet">Alignment is measured during checkpoints.</EmptyState>
        ) : (
          <Box sx={{ mt: 2 }}>
            <Chart title={`Alignment in the last ${pluralize(found.over, 'checkpoint')}, ${index === null ? 'slowest subtask' : `subtask ${index}`}`} label={found.label} option={found.option} />
          </Box>
        )
      }
    </QueryContent>
  );
}
