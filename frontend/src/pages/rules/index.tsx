import { CreateButton, DataTable, ReferenceField, TextField, useCanAccess } from 'react-admin';

import type { Schemas } from '../../api/types';
import { ChoiceFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';
import { conditionSaid, KINDS } from './conditions';

type Rule = Schemas['RuleShown'];

export default function Rules() {
  const { canAccess: may } = useCanAccess({ resource: 'alert-rules', action: 'create' });
  return (
    <ResourceList
      resource="alert-rules"
      title="Alert rules"
      sort={{ field: 'name', order: 'ASC' }}
      actions={may && <CreateButton label="New rule" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Part of a name" />
          <ChoiceFilter name="kind" label="Condition" all="any" choices={KINDS.map(({ id, name }) => ({ value: id, label: name }))} />
          <ChoiceFilter name="enabled" label="State" all="any" choices={[{ value: true, label: 'on' }, { value: false, label: 'off' }]} />
        </>
      }
      empty={<Empty title="No rules">Nobody is told when a job needs a person. Make a rule for one job, or for all.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={(id) => `/alert-rules/${id}`} size="small">
        <DataTable.Col source="name" render={({ id, name }: Rule) => <RowLink to={`/alert-rules/${id}`}>{name}</RowLink>} />
        <DataTable.Col label="Fires on" disableSort render={({ condition }: Rule) => conditionSaid(condition)} />
        <DataTable.Col label="Of" disableSort render={({ job_id }: Rule) => (job_id === null ? 'all jobs' : <ReferenceField source="job_id" reference="jobs" link={false}><TextField source="name" /></ReferenceField>)} />
        <DataTable.Col label="Tells" disableSort render={({ webhook_id }: Rule) => (webhook_id === null ? 'nobody' : <ReferenceField source="webhook_id" reference="webhooks" link={false}><TextField source="name" /></ReferenceField>)} />
        <DataTable.Col label="State" disableSort render={({ enabled }: Rule) => <State of="switched" is={enabled ? 'on' : 'off'} />} />
      </DataTable>
    </ResourceList>
  );
}
