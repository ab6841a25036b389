import ReplayIcon from '@mui/icons-material/Replay';
import { Alert, Box, Button, useTheme } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'react-router-dom';

import type { Schemas } from '../../../api/types';
import { EmptyState, ErrorState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { parseGraph, type PhysicalGraph } from '../physicalGraph';
import { useGraph, useJob } from '../useJob';
import { ChainPanel } from './ChainPanel';
import { chainMetrics } from './graph/chainMetrics';
import { computeLayout } from './graph/elk';
import { FlowGraph } from './graph/FlowGraph';
import { cssVariables, NARROW_WINDOW } from './graph/graphTheme';
import type { GraphLayout } from './graph/layout';
import { Legend } from './graph/Legend';
import { useReplayedCheckpoint, useStateSizes, useSubtaskMetrics } from './graph/useChainMetrics';
import { CheckpointSelect } from './replay/CheckpointSelect';
import { buildRecording } from './replay/recording';
import { ReplayControls } from './replay/ReplayControls';
import { LiveStatus, ReplayStatus } from './wavefront/CheckpointStatus';
import { buildTopology } from './wavefront/topology';
import { useLiveWavefront, useReplay, useWavefrontSource, WavefrontContext } from './wavefront/wavefrontSource';

type Detail = Schemas['CheckpointDetailRead'];

/**
 * Shows the graph of the job with the barriers of a checkpoint. If the URL contains `?replay=ID`, the panel replays the stored checkpoint with this
 * id on the graph of the run that took the checkpoint.
 */
export function GraphPanel() {
  const { id, run, last_checkpoint: last } = useJob();
  const [params, setParams] = useSearchParams();
  const match = /^[1-9]\d{0,15}$/.exec(params.get('replay') ?? '');
  const replayId = match ? Number(match[0]) : null;
  const detail = useReplayedCheckpoint(replayId);
  // Do not show a checkpoint of a different job on this graph.
  const replayed = replayId !== null && detail.data?.job_id === id ? detail.data : null;
  // A run that has just started has no graph yet.
  const deployedRun = run && run.graph_id !== null ? run.id : null;
  const graph = useGraph(replayed?.run_id ?? deployedRun, { keep: true });
  const replay = (checkpoint: number | null): void => setParams(checkpoint === null ? {} : { replay: String(checkpoint) }, { replace: true });
  if (!run) return <Panel title="Graph"><EmptyState title="No graph yet">The graph appears here when the job first runs.</EmptyState></Panel>;
  if (deployedRun === null && graph.data === undefined) return <Panel title="Graph"><EmptyState title="No graph yet">The graph appears here when the driver has deployed it.</EmptyState></Panel>;
  const actions = (
    <>
      {last && <Button size="small" startIcon={<ReplayIcon />} onClick={() => replay(last.id)}>Replay last checkpoint</Button>}
      <CheckpointSelect onSelect={replay} />
    </>
  );
  return (
    <Panel title="Graph" actions={actions} flush>
      {replayId !== null && detail.error && <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />}
      {detail.data && replayId !== null && !replayed && <Alert severity="warning" sx={{ mx: 1.5 }}>This checkpoint belongs to another job.</Alert>}
      <QueryContent query={graph} height={360}>
        {(body) => <LaidOutGraph body={body} replayed={graph.isPlaceholderData ? null : replayed} onExit={() => replay(null)} />}
      </QueryContent>
    </Panel>
  );
}

function LaidOutGraph({ body, replayed, onExit }: { body: Schemas['GraphRead']; replayed: Detail | null; onExit: () => void }) {
  const graph = useMemo(() => parseGraph(body.graph), [body]);
  const query = useQuery({ queryKey: ['layout', body.digest], staleTime: Infinity, retry: false, queryFn: () => computeLayout(graph) });
  if (graph.chains.length === 0) return <EmptyState title="No graph for this run">The driver reports the graph when it deploys the job.</EmptyState>;
  return (
    <QueryContent query={query} height={360}>
      {(layout) => <GraphView key={body.digest} graph={graph} layout={layout} replayed={replayed} onExit={onExit} />}
    </QueryContent>
  );
}

interface GraphViewProps {
  graph: PhysicalGraph;
  layout: GraphLayout;
  replayed: Detail | null;
  onExit: () => void;
}

function GraphView({ graph, layout, replayed, onExit }: GraphViewProps) {
  const { palette } = useTheme();
  const [selectedChain, selectChain] = useState<number | null>(null);
  const [area, setArea] = useState<HTMLDivElement | null>(null);
  const topology = useMemo(() => buildTopology(graph), [graph]);
  const script = useMemo(() => replayed && buildRecording(replayed, topology), [replayed, topology]);
  const live = useLiveWavefront(topology);
  const replay = useReplay(script);
  const source = useWavefrontSource(live, replay);
  const measured = useSubtaskMetrics();
  const sizes = useStateSizes();
  const metrics = useMemo(() => chainMetrics(graph, measured.subtasks, sizes, measured.bottleneck), [graph, measured, sizes]);
  const chain = graph.chains.find(({ index }) => index === selectedChain);
  return (
    <WavefrontContext value={source}>
      {replayed && replay ? <ReplayStatus store={replay} graph={graph} number={replayed.number} /> : <LiveStatus store={live} graph={graph} />}
      {replayed && !replay && <Alert severity="info" sx={{ mx: 1.5, mb: 1 }}>Cannot replay checkpoint {replayed.number}, because no subtask acknowledged this checkpoint.</Alert>}
      <Box ref={setArea} className="weir-graph-area" sx={{ display: 'flex', borderTop: 1, borderColor: 'divider', [NARROW_WINDOW]: { flexDirection: 'column' } }} style={cssVariables(palette.mode, palette)}>
        <Box sx={{ flex: 1, minWidth: 0, backgroundColor: 'background.default', [NARROW_WINDOW]: { flex: 'none' } }}>
          <FlowGraph graph={graph} layout={layout} metrics={metrics} selected={selectedChain} onSelect={selectChain} area={area} />
        </Box>
        {chain && <ChainPanel chain={chain} metrics={metrics.get(chain.index)} onClose={() => selectChain(null)} />}
      </Box>
      {replay && <ReplayControls store={replay} onExit={onExit} />}
      <Box style={cssVariables(palette.mode, palette)}><Legend /></Box>
    </WavefrontContext>
  );
}
