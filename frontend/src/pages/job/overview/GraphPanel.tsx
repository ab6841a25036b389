import ReplayIcon from '@mui/icons-material/Replay';
import { Alert, Box, Button, useTheme } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { Answered } from '../../../shared/Answered';
import { Panel } from '../../../shared/Panel';
import { Empty, Failure } from '../../../shared/Standins';
import { useGraph } from '../useGraph';
import { useJob } from '../useJob';
import { ChooseCheckpoint } from './ChooseCheckpoint';
import { layOut } from './elk';
import { figuresOf } from './figures';
import { FlowGraph } from './FlowGraph';
import { graphOf, type PhysicalGraph } from './graph';
import type { Placed } from './layout';
import { Legend } from './Legend';
import { NARROW, variablesOf } from './look';
import { ReplayControls } from './ReplayControls';
import { scriptOf } from './script';
import { SidePanel } from './SidePanel';
import { topologyOf } from './topology';
import { useCheckpointDetail, useMetrics, useSizes } from './useMeasured';
import { LiveLine, ReplayLine } from './WaveLine';
import { useLiveWave, useReplay, useShown, WaveContext } from './waveSource';

type Detail = Schemas['CheckpointDetailBody'];

/** The graph of the job with its barriers; with `?replay=ID` those of a stored checkpoint, over the graph of its run. */
export function GraphPanel() {
  const { id, run, last_checkpoint: last } = useJob();
  const [params, setParams] = useSearchParams();
  const wanted = /^[1-9]\d{0,15}$/.exec(params.get('replay') ?? '');
  const replayId = wanted ? Number(wanted[0]) : null;
  const detail = useCheckpointDetail(replayId);
  // Of another job it would be played over the wrong graph.
  const replayed = replayId !== null && detail.data?.job_id === id ? detail.data : null;
  // A run that has only begun has none yet.
  const told = run && run.graph_id !== null ? run.id : null;
  const graph = useGraph(replayed?.run_id ?? told, { keep: true });
  const replay = (checkpoint: number | null): void => setParams(checkpoint === null ? {} : { replay: String(checkpoint) }, { replace: true });
  if (!run) return <Panel title="Graph"><Empty title="It has not run yet">The graph is told by the driver when it begins to run.</Empty></Panel>;
  if (told === null && graph.data === undefined) return <Panel title="Graph"><Empty title="The graph is not known yet">It is told by the driver when it begins to run.</Empty></Panel>;
  const actions = (
    <>
      {last && <Button size="small" startIcon={<ReplayIcon />} onClick={() => replay(last.id)}>Replay the last</Button>}
      <ChooseCheckpoint onChoose={replay} />
    </>
  );
  return (
    <Panel title="Graph" actions={actions} flush>
      {replayId !== null && detail.error && <Failure error={detail.error} onRetry={() => void detail.refetch()} />}
      {detail.data && replayId !== null && !replayed && <Alert severity="warning" sx={{ mx: 1.5 }}>This checkpoint is of another job.</Alert>}
      <Answered query={graph} height={360}>
        {(body) => <Laid body={body} replayed={graph.isPlaceholderData ? null : replayed} onLeave={() => replay(null)} />}
      </Answered>
    </Panel>
  );
}

function Laid({ body, replayed, onLeave }: { body: Schemas['GraphBody']; replayed: Detail | null; onLeave: () => void }) {
  const graph = useMemo(() => graphOf(body.graph), [body]);
  const query = useQuery({ queryKey: ['layout', body.digest], staleTime: Infinity, retry: false, queryFn: () => layOut(graph) });
  if (graph.chains.length === 0) return <Empty title="The graph of this run is not known">It is told by the driver when the run begins.</Empty>;
  return (
    <Answered query={query} height={360}>
      {(placed) => <Drawn key={body.digest} graph={graph} placed={placed} replayed={replayed} onLeave={onLeave} />}
    </Answered>
  );
}

interface Drawing {
  graph: PhysicalGraph;
  placed: Placed;
  replayed: Detail | null;
  onLeave: () => void;
}

function Drawn({ graph, placed, replayed, onLeave }: Drawing) {
  const { palette } = useTheme();
  const [chosen, choose] = useState<number | null>(null);
  const topology = useMemo(() => topologyOf(graph), [graph]);
  const script = useMemo(() => replayed && scriptOf(replayed, topology), [replayed, topology]);
  const live = useLiveWave(topology);
  const replay = useReplay(script);
  const shown = useShown(live, replay);
  const metrics = useMetrics();
  const sizes = useSizes();
  const figures = useMemo(() => figuresOf(graph, metrics, sizes), [graph, metrics, sizes]);
  const chain = graph.chains.find(({ index }) => index === chosen);
  return (
    <WaveContext value={shown}>
      {replayed && replay ? <ReplayLine store={replay} graph={graph} number={replayed.number} /> : <LiveLine store={live} graph={graph} />}
      {replayed && !replay && <Alert severity="info" sx={{ mx: 1.5, mb: 1 }}>Nobody acknowledged anything of checkpoint {replayed.number}: there is nothing to replay.</Alert>}
      <Box sx={{ display: 'flex', borderTop: 1, borderColor: 'divider', [NARROW]: { flexDirection: 'column' } }} style={variablesOf(palette.mode, palette)}>
        <Box sx={{ flex: 1, minWidth: 0, backgroundColor: 'background.default', [NARROW]: { flex: 'none' } }}>
          <FlowGraph graph={graph} placed={placed} figures={figures} chosen={chosen} onChoose={choose} />
        </Box>
        {chain && <SidePanel chain={chain} figures={figures.get(chain.index)} onClose={() => choose(null)} />}
      </Box>
      {replay && <ReplayControls store={replay} onLeave={onLeave} />}
      <Box style={variablesOf(palette.mode, palette)}><Legend /></Box>
    </WaveContext>
  );
}
