import { Alert, ToggleButton, ToggleButtonGroup } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';

import { answered, api } from '../../../api/client';
import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty, Waiting } from '../../../shared/Standins';
import { useJob } from '../useJob';
import { chainsOf } from '../checkpoints/operators';
import { useDetail } from '../checkpoints/useDetail';
import { heatOfAlignment, heatOfNothing, heatOfTime, LABELS, TIMES, worstChain, type Measure } from './heat';
import { HeatMap, type Chosen } from './HeatMap';
import { Operator } from './Operator';
import { useNowMetrics } from './useMetrics';

const MEASURES: readonly Measure[] = [...TIMES, 'alignment'];

export default function Backpressure() {
  const [measure, setMeasure] = useState<Measure>('backpressured');
  const [asked, setAsked] = useState<Chosen | null>(null);
  const query = useNowMetrics();
  const { last_checkpoint: completed } = useJob();
  const { data: last } = useDetail(measure === 'alignment' && completed ? { id: completed.id, state: 'COMPLETED' } : null);
  const aligned = last?.statistics.chains;
  const subtasks = query.data?.subtasks;
  const rests = subtasks?.length === 0;
  const { data: deployed, isLoading: isAsking } = useGraph(rests);
  const graph = deployed?.graph;
  const rows = useMemo(() => {
    if (measure === 'alignment') return heatOfAlignment(aligned ?? [], subtasks ?? []);
    // Of a job that rests there is a past to look at.
    return rests ? heatOfNothing(chainsOf(graph)) : heatOfTime(subtasks ?? [], measure);
  }, [measure, subtasks, aligned, rests, graph]);
  // Who is held up most when the page is opened: it would jump if it followed that.
  const [first, setFirst] = useState<number | null>(null);
  if (first === null && subtasks && rows.length > 0) setFirst(worstChain(subtasks) ?? rows[0]!.chain);
  const chosen = asked ?? (first === null ? null : { chain: first, index: null });
  const name = rows.find(({ chain }) => chain === chosen?.chain)?.name;
  return (
    <>
      <Panel
        title={measure === 'alignment' && last ? `Subtasks, in checkpoint ${last.number}` : 'Subtasks, now'}
        flush
        actions={
          <ToggleButtonGroup size="small" exclusive aria-label="What is shown" value={measure} onChange={(_, one: Measure | null) => setMeasure(one ?? measure)}>
            {MEASURES.map((one) => <ToggleButton key={one} value={one} sx={{ py: 0.25 }}>{LABELS[one]}</ToggleButton>)}
          </ToggleButtonGroup>
        }
      >
        <Answered query={query} height={220}>
          {() =>
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
                <HeatMap rows={rows} measure={measure} chosen={chosen} onChoose={setAsked} />
              </>
            )
          }
        </Answered>
      </Panel>
      {chosen && <Operator key={chosen.chain} chosen={chosen} name={name ?? `chain ${chosen.chain}`} measure={measure === 'alignment' ? 'backpressured' : measure} />}
    </>
  );
}

function useGraph(enabled: boolean) {
  const { id, run } = useJob();
  return useQuery({
    queryKey: ['job', id, 'graph', run?.id],
    enabled: enabled && run !== null && run.graph_id !== null,
    queryFn: ({ signal }) => answered(api.GET('/api/v1/runs/{run_id}/graph', { params: { path: { run_id: run!.id } }, signal })),
  });
}
