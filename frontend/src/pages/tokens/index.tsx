import { CreateButton, useListContext } from 'react-admin';

import { useCan } from '../../auth/permissions';
import { SelectFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { EmptyState } from '../../shared/DataStates';
import { TokenTable } from './TokenTable';

const OWNERS = [{ value: true, label: 'all users' }];
const KINDS = [{ value: 'api', label: 'API token' }, { value: 'session', label: 'session' }];
const LIVE = [{ value: true, label: 'valid' }, { value: false, label: 'expired or revoked' }];

export default function Tokens() {
  const all = useCan('administer');
  return (
    <ResourceList
      resource="tokens"
      title="Tokens"
      sort={{ field: 'id', order: 'DESC' }}
      filterDefaults={{ live: true }}
      actions={<CreateButton label="New token" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Name contains" />
          {all && <SelectFilter name="everybody" label="User" allLabel="you" choices={OWNERS} />}
          <SelectFilter name="kind" label="Kind" allLabel="any" choices={KINDS} width={200} />
          <SelectFilter name="live" label="State" allLabel="any" choices={LIVE} />
        </>
      }
      empty={<EmptyState title="No valid tokens">Programs call the API with tokens. To create a token, select New token.</EmptyState>}
    >
      <Table all={all} />
    </ResourceList>
  );
}

function Table({ all }: { all: boolean }) {
  const { filterValues } = useListContext();
  return <TokenTable showOwner={all && (filterValues as { everybody?: boolean }).everybody === true} />;
}
