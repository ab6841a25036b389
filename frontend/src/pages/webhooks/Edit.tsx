import { DataTable } from 'react-admin';

import type { Schemas } from '../../api/types';
import { useCan } from '../../auth/permissions';
import { NO_VALUE } from '../../format';
import { RelativeTime, AbsoluteTime } from '../../shared/Time';
import { DescriptionList } from '../../shared/DescriptionList';
import { EditPage } from '../../shared/FormPage';
import { ListPanel } from '../../shared/ListPanel';
import { Panel } from '../../shared/Panel';
import { EmptyState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';
import { WebhookFields } from './Fields';
import { eventNames, formatName, messageText } from './formats';
import { SendTest } from './SendTest';

type Webhook = Schemas['WebhookRead'];
type Delivery = Schemas['DeliveryRead'];

/** The refetch interval of deliveries. No stream contains deliveries. */
const DELIVERIES_REFRESH_MS = 10_000;

export default function EditWebhook() {
  const canEdit = useCan('administer');
  return (
    <EditPage<Webhook>
      resource="webhooks"
      noun="Webhook"
      publiclyReadable
      titleOf={({ name }) => name}
      titleAddon={({ enabled }) => <StateChip kind="switched" state={enabled ? 'on' : 'off'} />}
      deleteWarning="The deliveries of this webhook are deleted as well. A webhook that a rule uses cannot be deleted."
      form={canEdit ? <WebhookFields /> : null}
    >
      {(webhook) => (
        <>
          {canEdit && <Panel title="Test"><SendTest key={`${webhook.id} ${webhook.version}`} webhook={webhook} /></Panel>}
          <Panel title="Webhook">
            <DescriptionList items={[['Receiver', webhook.receiver], ['Format', formatName(webhook.format)], ['Events', eventNames(webhook.events)], [webhook.format === 'pagerduty' ? 'Routing key' : 'Signing key', webhook.secret_reference ?? 'none (messages are not signed)'], ['Created', <AbsoluteTime key="created" at={webhook.created_at} />]]} />
          </Panel>
          <ListPanel
            resource="deliveries"
            title="Deliveries"
            filter={{ webhook_id: webhook.id }}
            sort={{ field: 'id', order: 'DESC' }}
            perPage={10}
            refreshMs={DELIVERIES_REFRESH_MS}
            empty={<EmptyState title="No deliveries yet">Weir sends a message for each event that this webhook receives.</EmptyState>}
          >
            <DataTable bulkActionButtons={false} rowClick={false} size="small">
              <DataTable.Col source="created_at" label="Time" render={({ created_at }: Delivery) => <RelativeTime at={created_at} />} />
              <DataTable.Col label="Message" disableSort render={(delivery: Delivery) => messageText(delivery)} />
              <DataTable.Col label="State" disableSort render={({ state }: Delivery) => <StateChip kind="delivery" state={state} />} />
              <DataTable.NumberCol source="tries" label="Attempts" disableSort />
              <DataTable.Col label="Response" disableSort sx={{ overflowWrap: 'anywhere' }} render={(delivery: Delivery) => responseText(delivery)} />
              <DataTable.Col label="Next attempt" disableSort render={({ ended_at, next_try_at }: Delivery) => (ended_at === null ? <RelativeTime at={next_try_at} /> : NO_VALUE)} />
            </DataTable>
          </ListPanel>
        </>
      )}
    </EditPage>
  );
}

function responseText({ http_status, problem, tries }: Pick<Delivery, 'http_status' | 'problem' | 'tries'>): string {
  return problem ?? (http_status === null ? (tries === 0 ? NO_VALUE : 'none') : String(http_status));
}
