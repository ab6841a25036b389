import { CreateButton, useListContext } from 'react-admin';

import { useCan } from '../../auth/useCan';
import { ChoiceFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { Empty } from '../../shared/Standins';
import { TokenTable } from './TokenTable';

const OF_WHOM = [{ value: true, label: 'everybody’s' }];
const KINDS = [{ value: 'api', label: 'a program' }, { value: 'session', label: 'a browser or terminal' }];
const LIVE = [{ value: true, label: 'valid' }, { value: false, label: 'not any more' }];

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
          <TextFilter name="name" label="Part of a name" />
          {all && <ChoiceFilter name="everybody" label="Whose" all="mine" choices={OF_WHOM} />}
          <ChoiceFilter name="kind" label="For" all="anything" choices={KINDS} width={200} />
          <ChoiceFilter name="live" label="State" all="any" choices={LIVE} />
        </>
      }
      empty={<Empty title="You have no token that is valid">Programs and pipelines call the API with tokens: make one with “New token”.</Empty>}
    >
      <Table all={all} />
    </ResourceList>
  );
}

function Table({ all }: { all: boolean }) {
  const { filterValues } = useListContext();
  return <TokenTable whose={all && (filterValues as { everybody?: boolean }).everybody === true} />;
}
