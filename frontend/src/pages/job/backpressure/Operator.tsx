import { Box, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useMemo, useState } from 'react';

import type { Schemas } from '../../../api/types';
import { counted, percent } from '../../../format';
import { Answered } from '../../../shared/Answered';
import { Chart } from '../../../shared/chart/Chart';
import { useInk } from '../../../shared/chart/useInk';
import { Panel } from '../../../shared/Panel';
import { Empty } from '../../../shared/Standins';
import { spoken } from '../checkpoints/trends';
import { useSeries } from '../checkpoints/useSeries';
import type { Chosen } from './address';
import { LABELS, TIMES, type Time } from './heat';
import { alignmentOverTime, gridOf, heatOverTime, meanOf, partOf, timeSpent } from './overTime';
import { RANGES, type Range } from './ranges';
import { useMetrics } from './useMetrics';

interface Shown {
  chosen: Chosen;
  name: string;
  measure: Time;
  /** Barriers begin with it. */
  source: boolean;
}

/** One operator over time: where its time went, which of its subtasks, and how long it aligned. */
export function Operator({ chosen: { chain, index }, name, measure, source }: Shown) {
  const [range, setRange] = useState<Range>(RANGES[0]!);
  const query = useMetrics(range, chain);
  return (
    <Panel
      title={index === null ? name : `${name} [${index}]`}
      actions={
        <ToggleButtonGroup size="small" exclusive aria-label="How far back" value={range.label} onChange={(_, label: string | null) => setRange(RANGES.find((one) => one.label === label) ?? range)}>
          {RANGES.map(({ label }) => <ToggleButton key={label} value={label} sx={{ py: 0.25 }}>{label}</ToggleButton>)}
        </ToggleButtonGroup>
      }
    >
      <Answered query={query} height={420}>
        {({ subtasks, step_s }) => {
          const own = subtasks.filter((one) => one.chain === chain);
          return own.length === 0 ? (
            <Empty title={`Nothing was measured in the last ${range.label}`}>What subtasks do is kept for a day.</Empty>
          ) : (
            <OverTime subtasks={own} index={index} stepS={step_s} measure={measure} range={range.label} />
          );
        }}
      </Answered>
      {source ? <Empty title="A source has no inputs to align">It lets the barrier go when it is told of the checkpoint.</Empty> : <Alignment chain={chain} index={index} />}
    </Panel>
  );
}

interface Props {
  subtasks: Schemas['SubtaskSeriesBody'][];
  index: number | null;
  stepS: number;
  measure: Time;
  range: string;
}

const ROW_HEIGHT = 18;

function OverTime({ subtasks, index, stepS, measure, range }: Props) {
  const ink = useInk();
  const { spent, label } = useMemo(() => {
    const shown = subtasks.filter((one) => index === null || one.index === index);
    const lines = TIMES.map((time) => ({ name: LABELS[time], colour: '', points: meanOf(shown, time, stepS * 1000) }));
    return { spent: timeSpent(shown, stepS, ink), label: spoken(`Use of time in the last ${range}`, lines, (ms) => percent(ms / 1000)) };
  }, [subtasks, index, stepS, ink, range]);
  const heat = useMemo(() => heatOverTime(gridOf(subtasks, measure, stepS * 1000), measure, ink), [subtasks, measure, stepS, ink]);
  return (
    <Box sx={{ display: 'grid', gridTemplateColumns: { xs: '1fr', md: '1fr 1fr' }, gap: 2 }}>
      <Chart title={index === null ? 'Use of time, mean of its subtasks' : `Use of time, subtask ${index}`} label={label} option={spent} height={220} />
      <Chart
        title={`${LABELS[measure]}, by subtask`}
        label={`${LABELS[measure]} of ${counted(subtasks.length, 'subtask')} in the last ${range}; the table above says what is so now`}
        option={heat}
        height={Math.max(220, subtasks.length * ROW_HEIGHT + 30)}
      />
    </Box>
  );
}

/** Measured once a checkpoint, so it has a time of its own. */
function Alignment({ chain, index }: Chosen) {
  const ink = useInk();
  const query = useSeries(chain);
  const { data } = query;
  const found = useMemo(() => {
    if (!data || data.checkpoints.length === 0) return null;
    const part = partOf(data.parts, chain, index);
    const lines = [{ name: 'alignment', colour: '', points: data.checkpoints.map(({ number }, place): [number, number | null] => [number, part?.alignment_ms[place] ?? null]) }];
    return { option: alignmentOverTime(data, part, ink), label: spoken('Alignment', lines, (ms) => `${Math.round(ms)} ms`), over: data.checkpoints.length };
  }, [data, chain, index, ink]);
  return (
    <Answered query={query} height={190}>
      {() =>
        found === null ? (
          <Empty title="No checkpoint has completed yet">How long alignment takes is measured by checkpoints.</Empty>
        ) : (
          <Box sx={{ mt: 2 }}>
            <Chart title={`Alignment in the last ${counted(found.over, 'checkpoint')}, ${index === null ? 'slowest subtask' : `subtask ${index}`}`} label={found.label} option={found.option} />
          </Box>
        )
      }
    </Answered>
  );
}
