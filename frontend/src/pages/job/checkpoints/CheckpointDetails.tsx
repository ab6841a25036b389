import { Box, Typography } from '@mui/material';
import { useMemo, type ReactNode } from 'react';

import type { Schemas } from '../../../api/types';
import { bytes } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { AbsoluteTime } from '../../../shared/Time';
import { QueryContent } from '../../../shared/DataStates';
import { DescriptionList } from '../../../shared/DescriptionList';
import { RunNumber } from '../RunNumber';
import { useGraph } from '../useJob';
import { CheckpointActions } from './CheckpointActions';
import { parseGraph } from '../physicalGraph';
import { chainProgress, operatorRows } from './operatorRows';
import { OperatorTable } from './OperatorTable';
import { SubtaskTimeline } from './SubtaskTimeline';
import { buildTimeline } from './timeline';
import { useCheckpointDetails } from './useCheckpoints';

type Checkpoint = Schemas['CheckpointRead'];

/** The details of a checkpoint: its actions, its properties, and the durations of its subtasks. */
export function CheckpointDetails({ of }: { of: Checkpoint }) {
  const query = useCheckpointDetails(of);
  return (
    <Box role="region" aria-label={`Checkpoint ${of.number}`} sx={{ py: 1, display: 'flex', flexDirection: 'column', gap: 2 }}>
      <Box sx={{ display: 'flex', gap: 2, alignItems: 'flex-start', justifyContent: 'space-between', flexWrap: 'wrap' }}>
        <DescriptionList items={factsOf(of, query.data?.id === of.id ? query.data.statistics : null)} />
        <CheckpointActions of={of} />
      </Box>
      <QueryContent query={query} height={220}>{(detail) => <Subtasks of={of} detail={detail} />}</QueryContent>
    </Box>
  );
}

function Subtasks({ of, detail }: { of: Checkpoint; detail: Schemas['CheckpointDetailRead'] }) {
  // Use the progress from the stream until the checkpoint has ended and its details are refetched.
  const live = useJobLive(({ progress }) => (progress?.checkpoint_id === of.id ? progress : null));
  const { data } = useGraph(of.run_id);
  const graph = useMemo(() => parseGraph(data?.graph ?? {}).chains, [data]);
  const chains = useMemo(() => chainProgress(detail, graph, live), [detail, graph, live]);
  const timeline = useMemo(() => buildTimeline(chains, graph, of.state), [chains, graph, of.state]);
  const rows = useMemo(() => operatorRows(chains, graph), [chains, graph]);
  return (
    <>
      <Section title="Timeline"><SubtaskTimeline of={timeline} checkpoint={of} /></Section>
      <Section title="Operators"><OperatorTable rows={rows} /></Section>
    </>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Box component="section" aria-label={title}>
      <Typography variant="h3" sx={{ mb: 0.5 }}>{title}</Typography>
      {children}
    </Box>
  );
}

function factsOf(of: Checkpoint, measured: Schemas['CheckpointStatisticsRead'] | null): [string, ReactNode][] {
  const facts: [string, ReactNode][] = [
    ['Triggered', <AbsoluteTime key="triggered" at={of.triggered_at} />],
    ['Based on', of.parent === null ? 'no checkpoint' : `checkpoint ${of.parent}`],
    ['Taken by', <>run <RunNumber key="run" of={of.run_id} />, generation {of.generation}</>],
  ];
  if (measured !== null && measured.checkpointed_size !== null) facts.push(['Data written', bytes(measured.checkpointed_size)]);
  if (measured !== null && measured.external_path !== null) facts.push([of.discarded_at === null ? 'Path' : 'Former path', measured.external_path]);
  if (of.discarded_at !== null) facts.push(['Files deleted', <AbsoluteTime key="discarded" at={of.discarded_at} />]);
  if (of.failure !== null) facts.push(['Failed', <>{of.failure} <AbsoluteTime at={of.failed_at} /></>]);
  if (of.pinned) facts.push(['Pinned by', `${of.pins.map(({ name, reason }) => (reason ? `${name} (${reason})` : name)).join(', ')}${of.pin_in_force ? '' : '; pending: a pin takes effect when a worker has written it to the job log'}`]);
  if (of.damage !== null) facts.push(['Damage', of.damage]);
  if (of.verified_at !== null) facts.push(['Verified', <AbsoluteTime key="verified" at={of.verified_at} />]);
  return facts;
}
