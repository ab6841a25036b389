import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useNotify } from 'react-admin';

import { api, idempotent } from '../../../api/client';
import type { Schemas } from '../../../api/types';
import { useCan } from '../../../auth/permissions';
import { bytes, count, pluralize, duration } from '../../../format';
import { RelativeTime } from '../../../shared/Time';
import { QueryContent } from '../../../shared/DataStates';
import { DescriptionList } from '../../../shared/DescriptionList';
import { Panel } from '../../../shared/Panel';
import { ActionButton } from '../../../shared/ActionButton';
import { restoreOrigin } from '../recovery/lineage';
import { disabledReason, REQUEST_PENDING } from '../actions';
import { useJob } from '../useJob';
import { useCheckpointSummary } from './useCheckpoints';

type Of = Schemas['CheckpointOverviewRead'];
type Checkpoint = Schemas['CheckpointRead'];

/** Shows the checkpoint counts and the newest checkpoint of each kind. */
export function CheckpointSummary() {
  const query = useCheckpointSummary();
  return (
    <Panel title="Latest checkpoints" actions={<TriggerActions />}>
      <QueryContent query={query}>{(summary) => <DescriptionList items={factsOf(summary)} />}</QueryContent>
    </Panel>
  );
}

function TriggerActions() {
  const { actions } = useJob();
  const { trigger, isPending } = useTriggerCheckpoint();
  if (!useCan('operate')) return null;
  return (
    <>
      <ActionButton label="Trigger checkpoint" disabledReason={isPending ? REQUEST_PENDING : disabledReason(actions, 'checkpoint')} onClick={() => trigger('checkpoint')} />
      <ActionButton label="Trigger savepoint" disabledReason={isPending ? REQUEST_PENDING : disabledReason(actions, 'savepoint')} onClick={() => trigger('savepoint')} />
    </>
  );
}

function factsOf({ counts, latest_completed, latest_failed, latest_savepoint, latest_restore }: Of): [string, ReactNode][] {
  return [
    ['Total', `${count(counts.completed)} completed (${pluralize(counts.savepoints, 'savepoint')}), ${count(counts.failed)} failed, ${count(counts.in_progress)} in progress`],
    ['Last completed', latest_completed && <CheckpointText of={latest_completed} />],
    ['Last savepoint', latest_savepoint && <CheckpointText of={latest_savepoint} />],
    ['Last failed', latest_failed && <>No. {latest_failed.number}, <RelativeTime at={latest_failed.failed_at} />: {latest_failed.failure}</>],
    ['Last restore', latest_restore && <RestoreText of={latest_restore} />],
  ];
}

function CheckpointText({ of }: { of: Checkpoint }) {
  return <>No. {of.number}, <RelativeTime at={of.completed_at} />, in {duration(of.end_to_end_ms)}, {bytes(of.state_bytes)}</>;
}

/** Shows the checkpoint that was restored last, which is a checkpoint of this job or a copy of an external checkpoint. */
function RestoreText({ of: { run, cause, at, checkpoint, is_savepoint, path } }: { of: Schemas['RestoreRead'] }) {
  const origin = path === null ? null : restoreOrigin({ start: { mode: 'path', path } });
  return (
    <>
      {origin?.at === 'external' ? <>{origin.number === null ? 'a checkpoint' : `No. ${origin.number}`} in <code>{origin.path}</code></> : <>No. {checkpoint}{is_savepoint && ' (savepoint)'}</>}
      , <RelativeTime at={at} />, by run {run} ({cause})
    </>
  );
}

/** A checkpoint is retained by the job's retention policy. A savepoint stays until a user deletes it. */
type CheckpointKind = 'checkpoint' | 'savepoint';

function useTriggerCheckpoint(): { trigger: (what: CheckpointKind) => void; isPending: boolean } {
  const { id } = useJob();
  const notify = useNotify();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: (what: CheckpointKind) =>
      idempotent((header) => {
        const params = { path: { job_id: id }, header };
        return what === 'savepoint' ? api.POST('/api/v1/jobs/{job_id}/savepoints', { params }) : api.POST('/api/v1/jobs/{job_id}/checkpoints', { params });
      }),
    onSuccess: (_, what) => {
      notify(what === 'savepoint' ? 'Savepoint triggered' : 'Checkpoint triggered', { type: 'info' });
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    },
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  return { trigger: mutate, isPending };
}
