import { Box, Typography } from '@mui/material';
import { useMemo, type ReactNode } from 'react';

import type { Schemas } from '../../../api/types';
import { bytes } from '../../../format';
import { useJobLive } from '../../../live/JobLiveProvider';
import { When } from '../../../shared/Ago';
import { Answered } from '../../../shared/Answered';
import { Facts } from '../../../shared/Facts';
import { RunNumber } from '../RunNumber';
import { useGraph } from '../useGraph';
import { Operators } from './Operators';
import { chainsOf, chainsSoFar, operatorRows } from './operators';
import { Timeline } from './Timeline';
import { timelineOf } from './timeline';
import { useDetail } from './useDetail';
import { Verbs } from './Verbs';

type Checkpoint = Schemas['CheckpointBody'];

/** One checkpoint: what can be done with it, what is known of it, and who took how long. */
export function Detail({ of }: { of: Checkpoint }) {
  const query = useDetail(of);
  return (
    <Box role="region" aria-label={`Checkpoint ${of.number}`} sx={{ py: 1, display: 'flex', flexDirection: 'column', gap: 2 }}>
      <Box sx={{ display: 'flex', gap: 2, alignItems: 'flex-start', justifyContent: 'space-between', flexWrap: 'wrap' }}>
        <Facts of={factsOf(of, query.data?.id === of.id ? query.data.statistics : null)} />
        <Verbs of={of} />
      </Box>
      <Answered query={query} height={220}>{(detail) => <Subtasks of={of} detail={detail} />}</Answered>
    </Box>
  );
}

function Subtasks({ of, detail }: { of: Checkpoint; detail: Schemas['CheckpointDetailBody'] }) {
  // It stays when the checkpoint is over, until what is stored of it has been asked for again. That of another one is none of its business.
  const live = useJobLive(({ progress }) => (progress?.checkpoint_id === of.id ? progress : null));
  const { data } = useGraph(of.run_id);
  const known = useMemo(() => chainsOf(data?.graph), [data]);
  const chains = useMemo(() => chainsSoFar(detail, known, live), [detail, known, live]);
  const timeline = useMemo(() => timelineOf(chains, known, of.state), [chains, known, of.state]);
  const rows = useMemo(() => operatorRows(chains, known), [chains, known]);
  return (
    <>
      <Section title="Timeline"><Timeline of={timeline} checkpoint={of} /></Section>
      <Section title="Operators"><Operators rows={rows} /></Section>
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

function factsOf(of: Checkpoint, measured: Schemas['CheckpointStatisticsBody'] | null): [string, ReactNode][] {
  const known: [string, ReactNode][] = [
    ['Triggered', <When key="triggered" at={of.triggered_at} />],
    ['Goes on from', of.parent === null ? 'the beginning' : `checkpoint ${of.parent}`],
    ['Taken by', <>run <RunNumber key="run" of={of.run_id} />, generation {of.generation}</>],
  ];
  if (measured !== null && measured.checkpointed_size !== null) known.push(['Has written', bytes(measured.checkpointed_size)]);
  if (measured !== null && measured.external_path !== null) known.push([of.discarded_at === null ? 'Is at' : 'Was at', measured.external_path]);
  if (of.discarded_at !== null) known.push(['Files gone', <When key="discarded" at={of.discarded_at} />]);
  if (of.failure !== null) known.push(['Failed', <>{of.failure} <When at={of.failed_at} /></>]);
  if (of.pinned) known.push(['Pinned', `${of.pinned_reason || 'without a reason'}${of.pin_in_force ? '' : "; in force once a worker has written it into the job's log"}`]);
  if (of.damage !== null) known.push(['Damage', of.damage]);
  if (of.verified_at !== null) known.push(['Verified', <When key="verified" at={of.verified_at} />]);
  return known;
}
