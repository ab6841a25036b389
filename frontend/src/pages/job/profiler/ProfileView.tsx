import { Alert, MenuItem, TextField } from '@mui/material';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';

import { api, unwrap } from '../../../api/client';
import { count, duration, percent, pluralize } from '../../../format';
import { EmptyState, LoadingState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { FlameGraph } from './FlameGraph';
import { flameTree, functionRows, type Profile } from './flameTree';
import { FunctionTable } from './FunctionTable';
import { requestOf, type ProfileOperation } from './useProfiles';

/** The result of a request for a profile, or the state of the request. */
export function ProfileView({ operation }: { operation: ProfileOperation }) {
  const { slot, seconds } = requestOf(operation);
  const title = `Profile of slot ${slot}`;
  if (operation.ended_at === null) {
    return (
      <Panel title={title}>
        <LoadingState label={`Slot ${slot} is taking a profile of ${seconds} s`} height={120} />
        <EmptyState title={`Slot ${slot} is taking a profile of ${seconds} s`}>The flame graph appears here when the profile is complete.</EmptyState>
      </Panel>
    );
  }
  if (operation.state !== 'SUCCEEDED') {
    return <Panel title={title}><Alert severity="error" variant="outlined">{operation.problem}</Alert></Panel>;
  }
  return <CompleteProfile key={operation.id} operation={operation} title={title} />;
}

function CompleteProfile({ operation: { id, job_id }, title }: { operation: ProfileOperation; title: string }) {
  const query = useQuery({
    queryKey: ['job', job_id, 'profile', id],
    staleTime: Infinity, // A profile never changes.
    structuralSharing: false,
    queryFn: ({ signal }) => unwrap(api.GET('/api/v1/operations/{operation_id}/profile', { params: { path: { operation_id: id } }, signal })),
  });
  if (query.data === undefined) return <Panel title={title}><QueryContent query={query} height={320}>{() => null}</QueryContent></Panel>;
  return <Content profile={query.data} title={title} />;
}

function Content({ profile, title }: { profile: Profile; title: string }) {
  const [name, setName] = useState(profile.threads[0]?.name);
  const thread = profile.threads.find((one) => one.name === name);
  const root = useMemo(() => thread && flameTree(profile, thread), [profile, thread]);
  const rows = useMemo(() => thread && functionRows(profile, thread), [profile, thread]);
  if (!thread || !root || !rows) return <Panel title={title}><EmptyState title="No samples">The profile has no stacks. Take a longer profile.</EmptyState></Panel>;
  const { samples, dropped_samples: dropped, duration_ms } = profile;
  return (
    <>
      <Panel
        title={title}
        actions={
          <TextField select size="small" label="Thread" value={thread.name} onChange={({ target }) => setName(target.value)} sx={{ minWidth: 240 }}>
            {profile.threads.map((one) => <MenuItem key={one.name} value={one.name}>{one.name}{one.cpu_ms !== null && `, ${percent(Math.min(1, one.cpu_ms / duration_ms))} on CPU`}</MenuItem>)}
          </TextField>
        }
      >
        {dropped > 0 && (
          <Alert severity="warning" variant="outlined" sx={{ mb: 1 }}>
            {pluralize(dropped, 'sample')} dropped: the slot had more different stacks than a profile can contain.
          </Alert>
        )}
        <FlameGraph key={thread.name} root={root} />
      </Panel>
      <Panel title={`Top functions of ${count(samples)} samples in ${duration(duration_ms)}`} flush>
        <FunctionTable rows={rows} samples={root.total} />
      </Panel>
    </>
  );
}
