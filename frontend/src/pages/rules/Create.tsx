import { CreatePage } from '../../shared/FormPage';
import { conditionFromForm } from './conditions';
import { RuleFields } from './Fields';

export default function NewRule() {
  return (
    <CreatePage
      resource="alert-rules"
      title="New rule"
      defaults={{ enabled: true, job_id: null, webhook_id: null, condition: { kind: 'no-checkpoint', minutes: 10, count: 3 } }}
      transform={({ condition, ...rest }) => ({ ...rest, condition: conditionFromForm(condition as Record<string, unknown>) })}
    >
      <RuleFields />
    </CreatePage>
  );
}
