/** The fake API's endpoints for users, tokens, secrets, the audit log, alerts and webhooks. */
import type { Schemas } from '../api/types';
import { listResponse } from './lists';
import { iso } from './model';
import type { AuditFields } from './administration';
import { apiPath, checkIfMatch, problem, type RouteRequest, type Route } from './routes';

const json = async <Body>({ request }: RouteRequest): Promise<Body> => (await request.json()) as Body;
const notFound = (what: string, { ids }: RouteRequest): Response => problem(404, 'not-found', `The ${what} ${ids.at(-1)} does not exist.`);
const noContent = (): Response => new Response(null, { status: 204 });
const withETag = (body: { version: number }, status = 200): Response => Response.json(body, { status, headers: { ETag: `"${body.version}"` } });

interface Versioned {
  id: number;
  version: number;
}

function recordAudit(asked: RouteRequest, action: string, resource: string, id: number, before: AuditFields, after: AuditFields): void {
  asked.installation.administration.recordAudit(asked.installation.nowMs, asked.userName, action, resource, id, before, after);
}

/** Return a route that updates a record if the version in `If-Match` is current. */
function updateRoute<Row extends Versioned>(what: string, rows: (asked: RouteRequest) => Row[], then: (row: Row, sent: Record<string, unknown>) => void = () => {}): Route[3] {
  return async (asked) => {
    const row = rows(asked).find(({ id }) => id === Number(asked.ids[0]));
    if (!row) return notFound(what, asked);
    const stale = checkIfMatch(asked, row);
    if (stale) return stale;
    const sent = await json<Record<string, unknown>>(asked);
    const before = Object.fromEntries(Object.keys(sent).map((name) => [name, (row as unknown as Record<string, unknown>)[name]]));
    Object.assign(row, sent, { version: row.version + 1 });
    then(row, sent);
    recordAudit(asked, 'update', what, row.id, before, withoutValues(sent));
    return withETag(row);
  };
}

/** Return the sent fields without passwords and values of secrets. */
function withoutValues({ password, value, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return { ...rest, ...(password === undefined ? {} : { password: 'changed' }), ...(value === undefined ? {} : { value: 'changed' }) };
}

function deleteRoute<Row extends Versioned>(what: string, rows: (asked: RouteRequest) => Row[], refuse: (asked: RouteRequest, row: Row) => Response | null = () => null): Route[3] {
  return (asked) => {
    const all = rows(asked);
    const row = all.find(({ id }) => id === Number(asked.ids[0]));
    if (!row) return notFound(what, asked);
    const refused = refuse(asked, row);
    if (refused) return refused;
    all.splice(all.indexOf(row), 1);
    recordAudit(asked, 'delete', what, row.id, { name: (row as { name?: string }).name }, null);
    return noContent();
  };
}

function getRoute<Row extends Versioned>(what: string, rows: (asked: RouteRequest) => Row[]): Route[3] {
  return (asked) => {
    const row = rows(asked).find(({ id }) => id === Number(asked.ids[0]));
    return row ? withETag(row) : notFound(what, asked);
  };
}

const users = ({ installation }: RouteRequest): Schemas['UserRead'][] => installation.administration.users;
const rules = ({ installation }: RouteRequest): Schemas['AlertRuleRead'][] => installation.administration.rules;
const webhooks = ({ installation }: RouteRequest): Schemas['WebhookRead'][] => installation.administration.webhooks;
const secrets = ({ installation }: RouteRequest): Schemas['SecretRead'][] => installation.administration.secrets;
/** Hide the URL from users who are not administrators. */
const visibleTo = ({ permissions }: RouteRequest, webhook: Schemas['WebhookRead']): Schemas['WebhookRead'] => (permissions.includes('administer') ? webhook : { ...webhook, url: null });

export const ADMINISTRATION_ROUTES: readonly Route[] = [
  ['GET', apiPath('/users'), 'administer', (asked) => listResponse(users(asked), filterByName(asked.query), 'users', ['name', 'ASC'])],
  ['POST', apiPath('/users'), 'administer', async (asked) => {
    const { name, role, rollback, password } = await json<Schemas['UserCreate']>(asked);
    if (users(asked).some((one) => one.name === name)) return problem(409, 'name-taken', `A user named '${name}' already exists.`, 'Choose another name.');
    const user: Schemas['UserRead'] = {
      id: asked.installation.administration.id, name, role, rollback: rollback ?? false, disabled: false, has_password: Boolean(password), has_oidc: false, version: 1, created_at: iso(asked.installation.nowMs),
    };
    users(asked).push(user);
    recordAudit(asked, 'create', 'user', user.id, null, { name, role, rollback: user.rollback, has_password: user.has_password });
    return withETag(user, 201);
  }],
  ['GET', apiPath('/users/:id'), 'administer', getRoute('user', users)],
  ['PATCH', apiPath('/users/:id'), 'administer', updateRoute('user', users, (user, sent) => {
    if ('password' in sent) {
      delete (user as { password?: unknown }).password;
      user.has_password = true;
    }
  })],
  ['DELETE', apiPath('/users/:id'), 'administer', deleteRoute('user', users, ({ installation }, user) =>
    user.role === 'admin' && installation.administration.users.filter(({ role, disabled }) => role === 'admin' && !disabled).length === 1
      ? problem(409, 'last-administrator', 'This is the last enabled administrator; without an administrator, users could not be managed.', 'Make another user an administrator first.')
      : null)],

  ['GET', apiPath('/tokens'), 'view', ({ installation, query, userName, permissions }) => {
    const { everybody, live, ...filter } = JSON.parse(query.get('filter') ?? '{}') as Record<string, unknown>;
    const own = installation.administration.users.find(({ name }) => name === userName)?.id;
    const others = permissions.includes('administer') && (everybody === true || 'user_id' in filter);
    const found = installation.administration.tokens.filter(
      (token) => (others || token.user_id === own) && (live === undefined || live === (token.revoked_at === null && Date.parse(token.expires_at) > installation.nowMs)),
    );
    const rest = new URLSearchParams(query);
    rest.set('filter', JSON.stringify(filter));
    return listResponse(found, rest, 'tokens');
  }],
  ['POST', apiPath('/tokens'), 'view', async (asked) => {
    const { name, role, rollback, expires_in_days } = await json<Schemas['TokenCreate']>(asked);
    const { administration, nowMs } = asked.installation;
    const token: Schemas['TokenRead'] = {
      id: administration.id, user_id: administration.users.find((one) => one.name === asked.userName)?.id ?? 1, name, kind: 'api', role, rollback: rollback ?? false,
      created_at: iso(nowMs), expires_at: iso(nowMs + expires_in_days * 86_400_000), last_used_at: null, revoked_at: null,
    };
    administration.tokens.unshift(token);
    recordAudit(asked, 'create', 'token', token.id, null, { name, role, rollback: token.rollback, expires_at: token.expires_at });
    return Response.json({ ...token, token: `weir_${'q7Zx'.repeat(10)}${token.id}` } satisfies Schemas['TokenCreatedRead'], { status: 201 });
  }],
  ['DELETE', apiPath('/tokens/:id'), 'view', (asked) => {
    const token = asked.installation.administration.tokens.find(({ id }) => id === Number(asked.ids[0]));
    if (!token) return notFound('token', asked);
    token.revoked_at ??= iso(asked.installation.nowMs);
    recordAudit(asked, 'revoke', 'token', token.id, { name: token.name, user_id: token.user_id }, null);
    return noContent();
  }],

  ['GET', apiPath('/audit'), 'administer', ({ installation, query }) => listResponse(installation.administration.audit, query, 'audit')],

  ['GET', apiPath('/platform'), 'view', ({ installation: { administration: { components } } }) => {
    const postgres = components.find(({ component }) => component === 'postgres')!;
    return postgres.status === 'down' ? problem(503, 'database', postgres.detail, postgres.next_step) : Response.json({ components } satisfies Schemas['PlatformHealthRead']);
  }],
  ['GET', apiPath('/alerts'), 'view', ({ installation, query }) => listResponse(installation.administration.alerts, query, 'alerts')],
  ['GET', apiPath('/alert-rules'), 'view', (asked) => listResponse(rules(asked), filterByName(asked.query), 'alert-rules', ['id', 'ASC'])],
  ['POST', apiPath('/alert-rules'), 'operate', async (asked) => {
    const draft = await json<Schemas['AlertRuleCreate']>(asked);
    const rule: Schemas['AlertRuleRead'] = {
      id: asked.installation.administration.id, job_id: null, webhook_id: null, version: 1, created_at: iso(asked.installation.nowMs), ...draft, enabled: draft.enabled ?? true,
    };
    rules(asked).push(rule);
    recordAudit(asked, 'create', 'alert-rule', rule.id, null, { ...draft });
    return withETag(rule, 201);
  }],
  ['GET', apiPath('/alert-rules/:id'), 'view', getRoute('alert-rule', rules)],
  ['PATCH', apiPath('/alert-rules/:id'), 'operate', updateRoute('alert-rule', rules)],
  ['DELETE', apiPath('/alert-rules/:id'), 'operate', deleteRoute('alert-rule', rules)],

  ['GET', apiPath('/secrets'), 'administer', (asked) => listResponse(secrets(asked), filterByName(asked.query), 'secrets', ['name', 'ASC'])],
  ['POST', apiPath('/secrets'), 'administer', async (asked) => {
    const { name, description = '' } = await json<Schemas['SecretCreate']>(asked);
    if (secrets(asked).some((one) => one.name === name)) return problem(409, 'name-taken', `A secret named '${name}' already exists.`, 'Choose another name, or replace its value.');
    const moment = iso(asked.installation.nowMs);
    const secret: Schemas['SecretRead'] = {
      id: asked.installation.administration.id, name, description, version: 1, created_by: 1, created_at: moment, updated_by: 1, updated_at: moment, value_changed_at: moment,
    };
    secrets(asked).push(secret);
    recordAudit(asked, 'create', 'secret', secret.id, null, { name, description });
    return withETag(secret, 201);
  }],
  ['GET', apiPath('/secrets/:id'), 'administer', getRoute('secret', secrets)],
  ['PATCH', apiPath('/secrets/:id'), 'administer', (asked) => updateRoute('secret', secrets, (secret, sent) => {
    delete (secret as { value?: unknown }).value;
    secret.updated_at = iso(asked.installation.nowMs);
    if ('value' in sent) secret.value_changed_at = secret.updated_at;
  })(asked)],
  ['DELETE', apiPath('/secrets/:id'), 'administer', deleteRoute('secret', secrets, (_, { name }) =>
    name === 'kafka-orders'
      ? problem(409, 'in-use', `The current versions of these jobs refer to secret '${name}': 'flights-delays'.`, 'Change or delete these jobs first.')
      : null)],

  ['GET', apiPath('/webhooks'), 'view', (asked) => listResponse(webhooks(asked).map((one) => visibleTo(asked, one)), filterByName(asked.query), 'webhooks', ['name', 'ASC'])],
  ['POST', apiPath('/webhooks'), 'administer', async (asked) => {
    const draft = await json<Schemas['WebhookCreate']>(asked);
    const webhook: Schemas['WebhookRead'] = {
      id: asked.installation.administration.id, name: draft.name, receiver: new URL(draft.url).origin, url: draft.url, secret_reference: draft.secret_reference ?? null,
      format: draft.format ?? 'weir', events: draft.events ?? ['alerts'], enabled: draft.enabled ?? true, version: 1, created_at: iso(asked.installation.nowMs),
    };
    webhooks(asked).push(webhook);
    recordAudit(asked, 'create', 'webhook', webhook.id, null, { name: webhook.name, receiver: webhook.receiver });
    return withETag(webhook, 201);
  }],
  ['GET', apiPath('/webhooks/:id'), 'view', (asked) => {
    const webhook = webhooks(asked).find(({ id }) => id === Number(asked.ids[0]));
    return webhook ? withETag(visibleTo(asked, webhook)) : notFound('webhook', asked);
  }],
  ['PATCH', apiPath('/webhooks/:id'), 'administer', updateRoute('webhook', webhooks, (webhook) => {
    webhook.receiver = new URL(webhook.url!).origin;
  })],
  ['DELETE', apiPath('/webhooks/:id'), 'administer', deleteRoute('webhook', webhooks, (asked, webhook) => {
    const usedBy = rules(asked).filter(({ webhook_id }) => webhook_id === webhook.id);
    return usedBy.length > 0 ? problem(409, 'in-use', `Alert rule ${usedBy[0]!.id} uses webhook ${webhook.id}.`, 'Choose another webhook for the rule first.') : null;
  })],
  ['POST', apiPath('/webhooks/:id/test'), 'administer', (asked) => {
    const webhook = webhooks(asked).find(({ id }) => id === Number(asked.ids[0]));
    if (!webhook) return notFound('webhook', asked);
    const { administration, nowMs } = asked.installation;
    const id = administration.id;
    const delivery: Schemas['DeliveryRead'] = {
      id, message_id: `5b1f0c1e-7a0e-4d7e-9c55-${String(id).padStart(12, '0')}`, webhook_id: webhook.id, alert_id: null, operation_id: null, plan_id: null, message_kind: 'TEST', state: 'PENDING', tries: 0, http_status: null,
      problem: null, next_try_at: iso(nowMs), created_at: iso(nowMs), ended_at: null,
    };
    administration.deliveries.unshift(delivery);
    recordAudit(asked, 'test', 'webhook', webhook.id, null, null);
    return Response.json(delivery, { status: 202 });
  }],
  ['GET', apiPath('/webhooks/:id/deliveries'), 'view', ({ installation, ids, query }) => {
    installation.administration.deliver(installation.nowMs);
    return listResponse(installation.administration.deliveries.filter(({ webhook_id }) => webhook_id === Number(ids[0])), query, 'deliveries');
  }],
  ['GET', apiPath('/webhooks/:id/deliveries/:id'), 'view', (asked) => {
    asked.installation.administration.deliver(asked.installation.nowMs);
    const found = asked.installation.administration.deliveries.find(({ id }) => id === Number(asked.ids[1]));
    return found ? Response.json(found) : notFound('delivery', asked);
  }],
];

/** The filter `name` matches a part of the name, like the filter `q` of jobs. */
function filterByName(query: URLSearchParams): URLSearchParams {
  const { name, ...filter } = JSON.parse(query.get('filter') ?? '{}') as Record<string, unknown>;
  const found = new URLSearchParams(query);
  found.set('filter', JSON.stringify(name === undefined ? filter : { ...filter, q: name }));
  return found;
}
