import { DataTable } from 'react-admin';

import type { Schemas } from '../../api/types';
import { useCan } from '../../auth/useCan';
import { NOTHING } from '../../format';
import { Ago, When } from '../../shared/Ago';
import { Facts } from '../../shared/Facts';
import { EditPage } from '../../shared/FormPage';
import { ListPanel } from '../../shared/ListPanel';
import { Panel } from '../../shared/Panel';
import { Empty } from '../../shared/Standins';
import { State } from '../../shared/State';
import { WebhookFields } from './Fields';
import { SendTest } from './SendTest';

type Webhook = Schemas['WebhookShown'];
type Delivery = Schemas['DeliveryShown'];

/** Messages come and go without a stream that tells of them. */
const DELIVERIES_REFRESH_MS = 10_000;
const ABOUT: Record<Delivery['about'], string> = { FIRING: 'it fires', RESOLVED: 'it is over', TEST: 'a test' };

export default function EditWebhook() {
  const may = useCan('administer');
  return (
    <EditPage<Webhook>
      resource="webhooks"
      what="Webhook"
      readable
      titleOf={({ name }) => name}
      beside={({ enabled }) => <State of="switched" is={enabled ? 'on' : 'off'} />}
      deleted="The list of its deliveries goes with it. It is refused while a rule names it."
      form={may ? <WebhookFields /> : null}
    >
      {(webhook) => (
        <>
          {may && <Panel title="Does it work?"><SendTest key={`${webhook.id} ${webhook.version}`} webhook={webhook} /></Panel>}
          <Panel title="Webhook">
            <Facts of={[['Receiver', webhook.receiver], ['Key', webhook.secret_reference ?? 'messages are not signed'], ['Made', <When key="made" at={webhook.created_at} />]]} />
          </Panel>
          <ListPanel
            resource="deliveries"
            title="Last deliveries"
            filter={{ webhook_id: webhook.id }}
            sort={{ field: 'id', order: 'DESC' }}
            perPage={10}
            refreshMs={DELIVERIES_REFRESH_MS}
            empty={<Empty title="Nothing was sent yet">Messages go out when an alert of a rule that names this webhook begins or ends.</Empty>}
          >
            <DataTable bulkActionButtons={false} rowClick={false} size="small">
              <DataTable.Col source="created_at" label="When" render={({ created_at }: Delivery) => <Ago at={created_at} />} />
              <DataTable.Col label="About" disableSort render={({ about, alert_id }: Delivery) => (alert_id === null ? ABOUT[about] : `alert ${alert_id}: ${ABOUT[about]}`)} />
              <DataTable.Col label="State" disableSort render={({ state }: Delivery) => <State of="delivery" is={state} />} />
              <DataTable.NumberCol source="tries" disableSort />
              <DataTable.Col label="Answer" disableSort sx={{ overflowWrap: 'anywhere' }} render={(delivery: Delivery) => answerOf(delivery)} />
              <DataTable.Col label="Next try" disableSort render={({ ended_at, next_try_at }: Delivery) => (ended_at === null ? <Ago at={next_try_at} /> : NOTHING)} />
            </DataTable>
          </ListPanel>
        </>
      )}
    </EditPage>
  );
}

export function answerOf({ status, problem, tries }: Pick<Delivery, 'status' | 'problem' | 'tries'>): string {
  return problem ?? (status === null ? (tries === 0 ? NOTHING : 'none') : String(status));
}
