import { MenuItem, TextField } from '@mui/material';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';

import { useCan } from '../../../auth/permissions';
import { absolute } from '../../../format';
import { EmptyState, QueryContent } from '../../../shared/DataStates';
import { Panel } from '../../../shared/Panel';
import { parseGraph } from '../physicalGraph';
import { useDeployedRun, useGraph } from '../useJob';
import { ProfileForm } from './ProfileForm';
import { ProfileView } from './ProfileView';
import { requestOf, useProfiles, type ProfileOperation } from './useProfiles';

/** Takes profiles of slots and shows them as flame graphs. URL parameters: `slot` selects a slot, and `profile` is the id of an operation. */
export default function Profiler() {
  const [params, setParams] = useSearchParams();
  const mayOperate = useCan('operate');
  const query = useProfiles();
  const { data: deployed, isLoading } = useGraph(useDeployedRun());
  const slots = useMemo(() => Math.max(1, ...parseGraph(deployed?.graph ?? {}).chains.map(({ parallelism }) => parallelism)), [deployed]);
  const choose = (id: number): void => setParams({ profile: String(id) });
  return (
    <>
      {mayOperate && !isLoading && <ProfileForm slots={slots} initialSlot={slotIn(params)} onRequested={choose} />}
      <QueryContent query={query} height={320}>
        {(operations) => {
          const chosen = operations.find(({ id }) => String(id) === params.get('profile')) ?? operations[0];
          if (!chosen) return <Panel title="Profile"><EmptyState title="No profiles yet">The flame graph of a slot appears here after a user has taken a profile.</EmptyState></Panel>;
          return (
            <>
              {operations.length > 1 && <Chooser operations={operations} chosen={chosen} onChoose={choose} />}
              <ProfileView operation={chosen} />
            </>
          );
        }}
      </QueryContent>
    </>
  );
}

function Chooser({ operations, chosen, onChoose }: { operations: readonly ProfileOperation[]; chosen: ProfileOperation; onChoose(id: number): void }) {
  return (
    <TextField select label="Profile" value={chosen.id} onChange={({ target }) => onChoose(Number(target.value))} sx={{ maxWidth: 420 }}>
      {operations.map((one) => <MenuItem key={one.id} value={one.id}>{describe(one)}</MenuItem>)}
    </TextField>
  );
}

/** `Slot 3, 10 s, 2026-11-28 12:03:04 UTC`, and the state unless the profile is complete. */
function describe(operation: ProfileOperation): string {
  const { slot, seconds } = requestOf(operation);
  const state = operation.ended_at === null ? 'running' : operation.state === 'SUCCEEDED' ? '' : 'failed';
  return [`Slot ${slot}`, `${seconds} s`, absolute(operation.created_at), state].filter(Boolean).join(', ');
}

function slotIn(params: URLSearchParams): number {
  const slot = Number(params.get('slot') ?? 0);
  return Number.isInteger(slot) && slot >= 0 && slot < 1 << 15 ? slot : 0;
}
