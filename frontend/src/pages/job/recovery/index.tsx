// Unfinished: the lineage tree, choosing a checkpoint, preview, approval, watching and undo come here (issue 5).
import { DataTable } from 'react-admin';

import type { Schemas } from '../../../api/types';
import { Ago } from '../../../shared/Ago';
import { ListPanel } from '../../../shared/ListPanel';
import { Empty } from '../../../shared/Standins';
import { State } from '../../../shared/State';
import { useJob } from '../useJob';

type Plan = Schemas['PlanShown'];

export default function Recovery() {
  const { id } = useJob();
  return (
    <ListPanel
      resource="plans"
      title="Plans"
      filter={{ job_id: id }}
      sort={{ field: 'id', order: 'DESC' }}
      empty={<Empty title="Nothing was planned yet">Rolling back, undoing, upgrading and rescaling begin with a plan that says what would happen.</Empty>}
    >
      <DataTable bulkActionButtons={false} rowClick={false} size="small">
        <DataTable.NumberCol source="id" label="Plan" />
        <DataTable.Col source="kind" disableSort />
        <DataTable.Col source="state" disableSort render={(plan: Plan) => <State of="plan" is={plan.state} />} />
        <DataTable.Col label="Checkpoint" disableSort render={(plan: Plan) => plan.preview.checkpoint ?? 'the one it is stopped with'} />
        <DataTable.Col source="problem" disableSort sx={{ overflowWrap: 'anywhere' }} />
        <DataTable.Col source="created_at" label="Proposed" disableSort render={(plan: Plan) => <Ago at={plan.created_at} />} />
        <DataTable.Col source="ended_at" label="Ended" disableSort render={(plan: Plan) => <Ago at={plan.ended_at} />} />
      </DataTable>
    </ListPanel>
  );
}
