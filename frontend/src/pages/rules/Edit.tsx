import { ReferenceField, TextField } from 'react-admin';

import type { Schemas } from '../../api/types';
import { useCan } from '../../auth/useCan';
import { Facts } from '../../shared/Facts';
import { EditPage } from '../../shared/FormPage';
import { Panel } from '../../shared/Panel';
import { State } from '../../shared/State';
import { AlertsPanel } from '../alerts/AlertsPanel';
import { conditionOf, conditionSaid } from './conditions';
import { RuleFields } from './Fields';

type Rule = Schemas['RuleShown'];

export default function EditRule() {
  const may = useCan('operate');
  return (
    <EditPage<Rule>
      resource="alert-rules"
      what="Rule"
      readable
      titleOf={({ name }) => name}
      beside={({ enabled }) => <State of="switched" is={enabled ? 'on' : 'off'} />}
      deleted="Alerts of it that fire are over. What it has found stays to be read. To pause it, switch it off instead."
      transform={({ condition, ...rest }) => ({ ...rest, condition: conditionOf(condition as Record<string, unknown>) })}
      form={may ? <RuleFields made /> : null}
    >
      {(rule) => (
        <>
          <Panel title="Rule">
            <Facts of={[
              ['Fires on', conditionSaid(rule.condition)],
              ['Of', rule.job_id === null ? 'all jobs' : <ReferenceField key="job" source="job_id" reference="jobs" link={(job) => `/jobs/${job.id}`}><TextField source="name" /></ReferenceField>],
              ['Tells', rule.webhook_id === null ? 'nobody' : <ReferenceField key="hook" source="webhook_id" reference="webhooks" link={(hook) => `/webhooks/${hook.id}`}><TextField source="name" /></ReferenceField>],
            ]}
            />
          </Panel>
          <AlertsPanel title="What it has found" filter={{ rule_id: rule.id }} empty="Nothing yet" />
        </>
      )}
    </EditPage>
  );
}
