import { CreateButton, DataTable, ReferenceField, TextField, useCanAccess } from 'react-admin';

import type { Schemas } from '../../api/types';
import { SelectFilter, TextFilter } from '../../shared/filters';
import { ResourceList } from '../../shared/ResourceList';
import { RowLink } from '../../shared/rows';
import { EmptyState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { formatCondition, KINDS } from './conditions';

type Rule = Schemas['AlertRuleRead'];

export default function Rules() {
  const { canAccess: canCreate } = useCanAccess({ resource: 'alert-rules', action: 'create' });
  return (
    <ResourceList
      resource="alert-rules"
      title="Alert rules"
      sort={{ field: 'name', order: 'ASC' }}
      actions={canCreate && <CreateButton label="New rule" variant="contained" size="small" />}
      filters={
        <>
          <TextFilter name="name" label="Name contains" />
          <SelectFilter name="kind" label="Condition" allLabel="any" choices={KINDS.map(({ id, name }) => ({ value: id, label: name }))} />
          <SelectFilter name="enabled" label="State" allLabel="any" choices={[{ value: true, label: 'on' }, { value: false, label: 'off' }]} />
        </>
      }
      empty={<EmptyState title="No rules">A rule raises alerts for one job or for all jobs. Create a rule to be notified when a job needs attention.</EmptyState>}
    >
      <DataTable bulkActionButtons={false} rowClick={(id) => `/alert-rules/${id}`} size="small">
        <DataTable.Col source="name" render={({ id, name }: Rule) => <RowLink to={`/alert-rules/${id}`}>{name}</RowLink>} />
        <DataTable.Col label="Condition" disableSort render={({ condition }: Rule) => formatCondition(condition)} />
        <DataTable.Col label="Jobs" disableSort render={({ job_id }: Rule) => (job_id === null ? 'all jobs' : <ReferenceField source="job_id" reference="jobs" link={false}><TextField source="name" /></ReferenceField>)} />
        <DataTable.Col label="Webhook" disableSort render={({ webhook_id }: Rule) => (webhook_id === null ? 'none' : <ReferenceField source="webhook_id" reference="webhooks" link={false}><TextField source="name" /></ReferenceField>)} />
        <DataTable.Col label="State" disableSort render={({ enabled }: Rule) => <StateChip kind="switched" state={enabled ? 'on' : 'off'} />} />
      </DataTable>
    </ResourceList>
  );
}
