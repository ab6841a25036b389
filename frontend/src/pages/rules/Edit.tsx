import { ReferenceField, TextField } from 'react-admin';

import type { Schemas } from '../../api/types';
import { useCan } from '../../auth/permissions';
import { DescriptionList } from '../../shared/DescriptionList';
import { EditPage } from '../../shared/FormPage';
import { Panel } from '../../shared/Panel';
import { StateChip } from '../../shared/StateChip';
import { AlertsPanel } from '../alerts/AlertsPanel';
import { conditionFromForm, formatCondition } from './conditions';
import { RuleFields } from './Fields';

type Rule = Schemas['AlertRuleRead'];

export default function EditRule() {
  const canEdit = useCan('operate');
  return (
    <EditPage<Rule>
      resource="alert-rules"
      noun="Rule"
      publiclyReadable
      titleOf={({ name }) => name}
      titleAddon={({ enabled }) => <StateChip kind="switched" state={enabled ? 'on' : 'off'} />}
      deleteWarning="Firing alerts of this rule are resolved, and past alerts are kept. To pause the rule, disable it instead."
      transform={({ condition, ...rest }) => ({ ...rest, condition: conditionFromForm(condition as Record<string, unknown>) })}
      form={canEdit ? <RuleFields existing /> : null}
    >
      {(rule) => (
        <>
          <Panel title="Rule">
            <DescriptionList items={[
              ['Condition', formatCondition(rule.condition)],
              ['Jobs', rule.job_id === null ? 'all jobs' : <ReferenceField key="job" source="job_id" reference="jobs" link={(job) => `/jobs/${job.id}`}><TextField source="name" /></ReferenceField>],
              ['Webhook', rule.webhook_id === null ? 'none' : <ReferenceField key="hook" source="webhook_id" reference="webhooks" link={(hook) => `/webhooks/${hook.id}`}><TextField source="name" /></ReferenceField>],
            ]}
            />
          </Panel>
          <AlertsPanel title="Alerts" filter={{ rule_id: rule.id }} empty="No alerts yet" />
        </>
      )}
    </EditPage>
  );
}
