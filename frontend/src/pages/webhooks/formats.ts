import type { Schemas } from '../../api/types';

type Format = Schemas['WebhookFormat'];
type Delivery = Schemas['DeliveryRead'];

/** The formats of webhook messages. `help`: the help text of the field URL. */
export const FORMATS: readonly { id: Format; name: string; help: string }[] = [
  { id: 'weir', name: 'Weir (JSON)', help: 'For example https://hooks.example.com/weir' },
  { id: 'slack', name: 'Slack', help: 'The URL of an incoming webhook, such as https://hooks.slack.com/services/…' },
  { id: 'teams', name: 'Microsoft Teams', help: 'The URL of a workflow that starts when it receives a webhook request' },
  { id: 'pagerduty', name: 'PagerDuty', help: 'https://events.pagerduty.com/v2/enqueue or, in the EU, https://events.eu.pagerduty.com/v2/enqueue' },
];

export const EVENTS: readonly { id: Schemas['WebhookEvent']; name: string }[] = [
  { id: 'alerts', name: 'Alerts' },
  { id: 'operations', name: 'Operations' },
  { id: 'plans', name: 'Plans' },
];

export const formatName = (format: Format): string => FORMATS.find(({ id }) => id === format)!.name;

/** Describe the events of a webhook: `alerts, plans`. */
export const eventNames = (events: readonly string[]): string => events.join(', ');

/** Describe the message of a delivery: `alert 7: firing`. */
export function messageText({ message_kind, alert_id, operation_id, plan_id }: Pick<Delivery, 'message_kind' | 'alert_id' | 'operation_id' | 'plan_id'>): string {
  const kind = message_kind.toLowerCase();
  if (alert_id !== null) return `alert ${alert_id}: ${kind}`;
  if (operation_id !== null) return `operation ${operation_id}: ${kind}`;
  return plan_id !== null ? `plan ${plan_id}: ${kind}` : kind;
}
