/** The users, tokens, secrets, audit log, alert rules, alerts, webhooks and deliveries of the fake installation. */
import type { Schemas } from '../api/types';
import { iso } from './model';

type Role = Schemas['Role'];
const DAY_MS = 86_400_000;
/** The response time of a fake webhook receiver. */
const DELIVERY_MS = 1_500;

export class Administration {
  readonly users: Schemas['UserRead'][];
  readonly tokens: Schemas['TokenRead'][];
  readonly audit: Schemas['AuditEntryRead'][] = [];
  readonly rules: Schemas['AlertRuleRead'][];
  readonly alerts: Schemas['AlertRead'][];
  readonly webhooks: Schemas['WebhookRead'][];
  readonly secrets: Schemas['SecretRead'][];
  readonly deliveries: Schemas['DeliveryRead'][];
  /** The health of the components of the platform. */
  readonly components: Schemas['ComponentHealthRead'][];
  #ids = 100;

  constructor(readonly startMs: number) {
    const ago = (ms: number): string => iso(startMs - ms);
    const user = (id: number, name: string, role: Role, more: Partial<Schemas['UserRead']> = {}): Schemas['UserRead'] => ({
      id, name, role, rollback: role === 'admin', disabled: false, has_password: true, has_oidc: false, version: 1, created_at: ago(60 * DAY_MS - id * DAY_MS), ...more,
    });
    const up = (component: Schemas['Component'], detail: string): Schemas['ComponentHealthRead'] => ({ component, status: 'up', detail, next_step: '', up_at: ago(0) });
    this.components = [
      up('postgres', 'Postgres answers.'), up('redis', 'Redis answers; 0 tasks wait for a worker.'), up('workers', '3 workers answer.'), up('beat', 'Periodic tasks run.'),
      up('storage', '/var/lib/weir has 212 GB of free space.'), up('drivers', '4 drivers are in contact.'),
    ];
    this.users = [
      user(1, 'admin', 'admin'), user(2, 'operator', 'operator', { rollback: false }), user(3, 'viewer', 'viewer'),
      user(4, 'mira.holt', 'operator', { rollback: true, has_oidc: true, has_password: false }), user(5, 'j.ortega', 'viewer', { disabled: true, version: 3 }),
      user(6, 'deploy-bot', 'operator', { has_password: false }),
    ];
    const token = (id: number, user_id: number, name: string, role: Role, expires_in_ms: number, more: Partial<Schemas['TokenRead']> = {}): Schemas['TokenRead'] => ({
      id, user_id, name, kind: 'api', role, rollback: false, created_at: ago(20 * DAY_MS), expires_at: iso(startMs + expires_in_ms), last_used_at: ago(id * 240_000), revoked_at: null, ...more,
    });
    this.tokens = [
      token(1, 1, 'password', 'admin', DAY_MS / 2, { kind: 'session', rollback: true, created_at: ago(60_000), last_used_at: ago(2_000) }),
      token(2, 1, 'deployments from CI', 'operator', 71 * DAY_MS),
      token(3, 1, 'grafana', 'viewer', 3 * DAY_MS, { last_used_at: ago(15_000) }),
      token(4, 1, 'trial of the CLI', 'admin', -4 * DAY_MS, { last_used_at: null }),
      token(5, 2, 'password', 'operator', DAY_MS / 3, { kind: 'session' }),
      token(6, 6, 'nightly deploy', 'operator', 40 * DAY_MS, { rollback: true }),
      token(7, 6, 'nightly deploy, the first', 'operator', 12 * DAY_MS, { revoked_at: ago(5 * DAY_MS) }),
    ];
    const rule = (id: number, name: string, condition: Schemas['AlertRuleRead']['condition'], more: Partial<Schemas['AlertRuleRead']> = {}): Schemas['AlertRuleRead'] => ({
      id, name, condition, job_id: null, webhook_id: 1, enabled: true, version: 1, created_at: ago(50 * DAY_MS), ...more,
    });
    this.rules = [
      rule(1, 'no checkpoint', { kind: 'no-checkpoint', minutes: 10 }), rule(2, 'failures', { kind: 'failures', count: 3 }),
      rule(3, 'restarts', { kind: 'restarts', count: 5, minutes: 10 }),
      rule(4, 'fraud lag', { kind: 'lag', records: 1_000_000, seconds: null, source: null }, { job_id: 2 }),
      rule(5, 'disabled for now', { kind: 'no-checkpoint', minutes: 2 }, { job_id: 7, webhook_id: null, enabled: false, version: 2 }),
    ];
    const alert = (id: number, about: Schemas['AlertRuleRead'], job_id: number, message: string, sinceMs: number, more: Partial<Schemas['AlertRead']> = {}): Schemas['AlertRead'] => ({
      id, rule_id: about.id, rule_name: about.name, kind: about.condition.kind, job_id, state: 'FIRING', message, since: ago(sinceMs), resolved_at: null, resolution: null, ...more,
    });
    const resolved = (ms: number, resolution: string): Partial<Schemas['AlertRead']> => ({ state: 'RESOLVED', resolved_at: ago(ms), resolution });
    this.alerts = [
      alert(9, this.rules[1]!, 4, 'the job has failed 10 times without completing a checkpoint', 5_000_000),
      alert(8, this.rules[3]!, 2, 'source in is 2,418,000 records behind, more than 1,000,000', 1_260_000),
      alert(7, this.rules[0]!, 4, 'no checkpoint has completed since checkpoint 60, 10 min ago', 4_800_000),
      alert(5, this.rules[2]!, 5, 'the job was restarted 5 times within 10 min', 3 * DAY_MS, resolved(3 * DAY_MS - 1_320_000, 'the job was restarted 2 times within the last 10 min')),
      alert(3, this.rules[0]!, 1, 'no checkpoint has completed since checkpoint 31, 10 min ago', 9 * DAY_MS, resolved(9 * DAY_MS - 260_000, 'checkpoint 32 is completed')),
      { ...alert(2, this.rules[0]!, 6, 'no checkpoint has completed since the job was started 30 min ago', 11 * DAY_MS, resolved(11 * DAY_MS - 900_000, 'the rule was deleted')), rule_id: null, rule_name: 'old rule' },
    ];
    this.webhooks = [
      { id: 1, name: 'on-call', receiver: 'https://hooks.example.com', url: 'https://hooks.example.com/weir/T02A', secret_reference: 'env:WEIR_WEBHOOK_KEY_ONCALL', format: 'weir', events: ['alerts'], enabled: true, version: 2, created_at: ago(55 * DAY_MS) },
      { id: 2, name: 'chat', receiver: 'http://chat.weir.example:8080', url: 'http://chat.weir.example:8080/in/ops', secret_reference: null, format: 'slack', events: ['alerts', 'operations', 'plans'], enabled: true, version: 1, created_at: ago(30 * DAY_MS) },
    ];
    const secret = (id: number, name: string, description: string, days: number): Schemas['SecretRead'] => ({
      id, name, description, version: 1, created_by: 1, created_at: ago(days * DAY_MS), updated_by: 1, updated_at: ago(days * DAY_MS), value_changed_at: ago(days * DAY_MS),
    });
    this.secrets = [secret(1, 'kafka-orders', 'Password of the Kafka user orders', 40), secret(2, 'geo-api-key', 'Key of the geocoding service', 12)];
    const sent = (id: number, webhook_id: number, alert_id: number | null, message_kind: Schemas['MessageKind'], ms: number, more: Partial<Schemas['DeliveryRead']> = {}): Schemas['DeliveryRead'] => ({
      id, message_id: `5b1f0c1e-7a0e-4d7e-9c55-${String(id).padStart(12, '0')}`, webhook_id, alert_id, operation_id: null, plan_id: null, message_kind, state: 'DELIVERED', tries: 1, http_status: 204, problem: null,
      next_try_at: ago(ms), created_at: ago(ms), ended_at: ago(ms - 400), ...more,
    });
    this.deliveries = [
      sent(21, 1, 8, 'FIRING', 1_260_000), sent(20, 1, 9, 'FIRING', 5_000_000, { tries: 3 }),
      sent(19, 2, 7, 'FIRING', 4_800_000, { state: 'PENDING', tries: 7, http_status: 503, problem: 'the receiver responded with 503 Service Unavailable', next_try_at: iso(startMs + 420_000), ended_at: null }),
      sent(16, 2, null, 'APPLIED', 2 * DAY_MS, { plan_id: 3 }), sent(15, 2, null, 'APPROVED', 2 * DAY_MS + 90_000, { plan_id: 3 }),
      sent(14, 1, 3, 'RESOLVED', 9 * DAY_MS - 260_000), sent(13, 1, 3, 'FIRING', 9 * DAY_MS),
      sent(11, 2, 5, 'FIRING', 3 * DAY_MS, { state: 'FAILED', tries: 103, http_status: null, problem: 'the receiver did not respond within 10 s' }),
    ];
    const by = (user_name: string): Schemas['UserRead'] | undefined => this.users.find(({ name }) => name === user_name);
    const record = (at: number, user_name: string, action: string, resource: string, resource_id: number, before: AuditFields, after: AuditFields, resource_text: string, job_id: number | null = null): void => {
      this.audit.unshift({
        id: (this.#ids += 1), at: ago(at), user_id: by(user_name)?.id ?? null, user_name, token_id: 1, token_text: 'token password', action, resource, resource_id, resource_text, job_id, before, after, references: {},
        request_id: '9f31c2aa7e5b0d46', address: user_name === 'weir' ? null : '10.4.0.17',
      });
    };
    record(9 * DAY_MS, 'admin', 'create', 'user', 5, null, { name: 'j.ortega', role: 'viewer', rollback: false, has_password: true }, 'user j.ortega');
    record(6 * DAY_MS, 'mira.holt', 'update', 'job', 1, { desired_state: 'RUNNING', labels: { team: 'ops' } }, { desired_state: 'SUSPENDED', labels: { team: 'ops', tier: '1' } }, 'job flights-delays', 1);
    record(5 * DAY_MS, 'admin', 'revoke', 'token', 7, { name: 'nightly deploy, the first', user_id: 6 }, null, 'token nightly deploy, the first');
    record(4 * DAY_MS, 'deploy-bot', 'create', 'spec', 12, null, { number: 2, comment: 'Use four slots and halve the checkpoint interval' }, 'version 2 of job flights-delays', 1);
    record(2 * DAY_MS, 'mira.holt', 'approve', 'plan', 3, { state: 'PROPOSED' }, { state: 'APPROVED' }, 'plan 3 of job flights-delays');
    record(DAY_MS, 'admin', 'update', 'user', 5, { disabled: false, role: 'operator' }, { disabled: true, role: 'viewer' }, 'user j.ortega');
    record(7_200_000, 'admin', 'update', 'alert-rule', 5, { enabled: true, condition: { minutes: 5 } }, { enabled: false, condition: { minutes: 2 } }, 'alert rule disabled for now');
    record(60_000, 'admin', 'log-in', 'session', 1, null, { by: 'password' }, 'session');
  }

  get id(): number {
    return (this.#ids += 1);
  }

  recordAudit(nowMs: number, user_name: string, action: string, resource: string, resource_id: number, before: AuditFields, after: AuditFields, job: Pick<Schemas['JobRead'], 'id' | 'name'> | null = null): void {
    const name = after?.name ?? before?.name ?? resource_id;
    this.audit.unshift({
      id: this.id, at: iso(nowMs), user_id: this.users.find(({ name }) => name === user_name)?.id ?? null, user_name, token_id: 1, token_text: 'token password', action, resource, resource_id,
      resource_text: `${resource.replace('-', ' ')} ${String(name)}${job ? ` of job ${job.name}` : ''}`, job_id: job?.id ?? null, before, after, references: {},
      request_id: '4f1c0a77d2e95b36', address: '127.0.0.1',
    });
  }

  /** End test deliveries whose simulated duration has passed. Deliveries to the webhook `chat` always fail. */
  deliver(nowMs: number): void {
    for (const one of this.deliveries) {
      if (one.ended_at !== null || one.message_kind !== 'TEST' || nowMs - Date.parse(one.created_at) < DELIVERY_MS) continue;
      const succeeds = this.webhooks.find(({ id }) => id === one.webhook_id)?.name !== 'chat';
      const result: Partial<Schemas['DeliveryRead']> = succeeds
        ? { state: 'DELIVERED', http_status: 204 }
        : { state: 'FAILED', http_status: 503, problem: 'the receiver responded with 503 Service Unavailable' };
      Object.assign(one, { ...result, tries: 1, ended_at: iso(nowMs) });
    }
  }
}

export type AuditFields = Record<string, unknown> | null;
