import { CreatePage } from '../../shared/FormPage';
import { WebhookFields } from './Fields';

export default function NewWebhook() {
  return <CreatePage resource="webhooks" title="New webhook" defaults={{ enabled: true, secret_reference: null, format: 'weir', events: ['alerts'] }}><WebhookFields /></CreatePage>;
}
