/** The endpoints about what is not about one job, as the real API answers them. */
import type { Schemas } from '../api/types';
import { listAnswer } from './lists';
import { iso } from './moments';
import type { Entry } from './office';
import { at, problem, type Asked, type Route } from './routes';

const json = async <Body>({ request }: Asked): Promise<Body> => (await request.json()) as Body;
const missing = (what: string, { ids }: Asked): Response => problem(404, 'not-found', `there is no ${what} ${ids.at(-1)}`);
const gone = (): Response => new Response(null, { status: 204 });
const stamped = (body: { version: number }, status = 200): Response => Response.json(body, { status, headers: { ETag: `"${body.version}"` } });

interface Versioned {
  id: number;
  version: number;
}

function noted(asked: Asked, action: string, resource: string, id: number, before: Entry, after: Entry): void {
  asked.world.office.note(asked.world.nowMs, asked.who, action, resource, id, before, after);
}

/** Of `rows`: with what was sent, if it was seen as it is. */
function changing<Row extends Versioned>(what: string, rows: (asked: Asked) => Row[], then: (row: Row, sent: Record<string, unknown>) => void = () => {}): Route[3] {
  return async (asked) => {
    const row = rows(asked).find(({ id }) => id === Number(asked.ids[0]));
    if (!row) return missing(what, asked);
    const seen = asked.request.headers.get('If-Match');
    if (seen === null) return problem(428, 'no-version', 'a change has to say which version it is of', 'send If-Match');
    if (seen !== '*' && seen !== `"${row.version}"`) return problem(412, 'changed', `${what} ${row.id} was changed meanwhile`, 'read it again');
    const sent = await json<Record<string, unknown>>(asked);
    const before = Object.fromEntries(Object.keys(sent).map((name) => [name, (row as unknown as Record<string, unknown>)[name]]));
    Object.assign(row, sent, { version: row.version + 1 });
    then(row, sent);
    noted(asked, 'update', what, row.id, before, 'password' in sent ? { ...sent, password: 'changed' } : sent);
    return stamped(row);
  };
}

function removing<Row extends Versioned>(what: string, rows: (asked: Asked) => Row[], refuse: (asked: Asked, row: Row) => Response | null = () => null): Route[3] {
  return (asked) => {
    const all = rows(asked);
    const row = all.find(({ id }) => id === Number(asked.ids[0]));
    if (!row) return missing(what, asked);
    const refused = refuse(asked, row);
    if (refused) return refused;
    all.splice(all.indexOf(row), 1);
    noted(asked, 'delete', what, row.id, { name: (row as { name?: string }).name }, null);
    return gone();
  };
}

function reading<Row extends Versioned>(what: string, rows: (asked: Asked) => Row[]): Route[3] {
  return (asked) => {
    const row = rows(asked).find(({ id }) => id === Number(asked.ids[0]));
    return row ? stamped(row) : missing(what, asked);
  };
}

const users = ({ world }: Asked): Schemas['UserView'][] => world.office.users;
const rules = ({ world }: Asked): Schemas['RuleShown'][] => world.office.rules;
const webhooks = ({ world }: Asked): Schemas['WebhookShown'][] => world.office.webhooks;
/** What only administrators see of a webhook is left out for others. */
const seenBy = ({ may }: Asked, webhook: Schemas['WebhookShown']): Schemas['WebhookShown'] => (may.includes('administer') ? webhook : { ...webhook, url: null });

export const OFFICE_ROUTES: readonly Route[] = [
  ['GET', at('/users'), 'administer', (asked) => listAnswer(users(asked), partOfName(asked.query), 'users', ['name', 'ASC'])],
  ['POST', at('/users'), 'administer', async (asked) => {
    const { name, role, rollback, password } = await json<Schemas['NewUser']>(asked);
    if (users(asked).some((one) => one.name === name)) return problem(409, 'name-taken', `there is a user called '${name}'`, 'take another name');
    const user: Schemas['UserView'] = {
      id: asked.world.office.id, name, role, rollback: rollback ?? false, disabled: false, has_password: Boolean(password), has_oidc: false, version: 1, created_at: iso(asked.world.nowMs),
    };
    users(asked).push(user);
    noted(asked, 'create', 'user', user.id, null, { name, role, rollback: user.rollback, has_password: user.has_password });
    return stamped(user, 201);
  }],
  ['GET', at('/users/:id'), 'administer', reading('user', users)],
  ['PATCH', at('/users/:id'), 'administer', changing('user', users, (user, sent) => {
    if ('password' in sent) {
      delete (user as { password?: unknown }).password;
      user.has_password = true;
    }
  })],
  ['DELETE', at('/users/:id'), 'administer', removing('user', users, ({ world }, user) =>
    user.role === 'admin' && world.office.users.filter(({ role, disabled }) => role === 'admin' && !disabled).length === 1
      ? problem(409, 'last-administrator', 'this is the last administrator: without him nobody could manage users', 'make another user an administrator first')
      : null)],

  ['GET', at('/tokens'), 'view', ({ world, query, who, may }) => {
    const { everybody, live, ...filter } = JSON.parse(query.get('filter') ?? '{}') as Record<string, unknown>;
    const own = world.office.users.find(({ name }) => name === who)?.id;
    const others = may.includes('administer') && (everybody === true || 'user_id' in filter);
    const found = world.office.tokens.filter(
      (token) => (others || token.user_id === own) && (live === undefined || live === (token.revoked_at === null && Date.parse(token.expires_at) > world.nowMs)),
    );
    const rest = new URLSearchParams(query);
    rest.set('filter', JSON.stringify(filter));
    return listAnswer(found, rest, 'tokens');
  }],
  ['POST', at('/tokens'), 'view', async (asked) => {
    const { name, role, rollback, expires_in_days } = await json<Schemas['NewToken']>(asked);
    const { office, nowMs } = asked.world;
    const token: Schemas['TokenView'] = {
      id: office.id, user_id: office.users.find((one) => one.name === asked.who)?.id ?? 1, name, kind: 'api', role, rollback: rollback ?? false,
      created_at: iso(nowMs), expires_at: iso(nowMs + expires_in_days * 86_400_000), last_used_at: null, revoked_at: null,
    };
    office.tokens.unshift(token);
    noted(asked, 'create', 'token', token.id, null, { name, role, rollback: token.rollback, expires_at: token.expires_at });
    return Response.json({ ...token, token: `weir_${'q7Zx'.repeat(10)}${token.id}` } satisfies Schemas['CreatedToken'], { status: 201 });
  }],
  ['DELETE', at('/tokens/:id'), 'view', (asked) => {
    const token = asked.world.office.tokens.find(({ id }) => id === Number(asked.ids[0]));
    if (!token) return missing('token', asked);
    token.revoked_at ??= iso(asked.world.nowMs);
    noted(asked, 'revoke', 'token', token.id, { name: token.name, user_id: token.user_id }, null);
    return gone();
  }],

  ['GET', at('/audit'), 'administer', ({ world, query }) => listAnswer(world.office.audit, query, 'audit')],

  ['GET', at('/alerts'), 'view', ({ world, query }) => listAnswer(world.office.alerts, query, 'alerts')],
  ['GET', at('/alert-rules'), 'view', (asked) => listAnswer(rules(asked), partOfName(asked.query), 'alert-rules', ['id', 'ASC'])],
  ['POST', at('/alert-rules'), 'operate', async (asked) => {
    const draft = await json<Schemas['RuleDraft']>(asked);
    const rule: Schemas['RuleShown'] = {
      id: asked.world.office.id, job_id: null, webhook_id: null, version: 1, created_at: iso(asked.world.nowMs), ...draft, enabled: draft.enabled ?? true,
    };
    rules(asked).push(rule);
    noted(asked, 'create', 'alert-rule', rule.id, null, { ...draft });
    return stamped(rule, 201);
  }],
  ['GET', at('/alert-rules/:id'), 'view', reading('alert-rule', rules)],
  ['PATCH', at('/alert-rules/:id'), 'operate', changing('alert-rule', rules)],
  ['DELETE', at('/alert-rules/:id'), 'operate', removing('alert-rule', rules)],

  ['GET', at('/webhooks'), 'view', (asked) => listAnswer(webhooks(asked).map((one) => seenBy(asked, one)), partOfName(asked.query), 'webhooks', ['name', 'ASC'])],
  ['POST', at('/webhooks'), 'administer', async (asked) => {
    const draft = await json<Schemas['WebhookDraft']>(asked);
    const webhook: Schemas['WebhookShown'] = {
      id: asked.world.office.id, name: draft.name, receiver: new URL(draft.url).origin, url: draft.url, secret_reference: draft.secret_reference ?? null,
      enabled: draft.enabled ?? true, version: 1, created_at: iso(asked.world.nowMs),
    };
    webhooks(asked).push(webhook);
    noted(asked, 'create', 'webhook', webhook.id, null, { name: webhook.name, receiver: webhook.receiver });
    return stamped(webhook, 201);
  }],
  ['GET', at('/webhooks/:id'), 'view', (asked) => {
    const webhook = webhooks(asked).find(({ id }) => id === Number(asked.ids[0]));
    return webhook ? stamped(seenBy(asked, webhook)) : missing('webhook', asked);
  }],
  ['PATCH', at('/webhooks/:id'), 'administer', changing('webhook', webhooks, (webhook) => {
    webhook.receiver = new URL(webhook.url!).origin;
  })],
  ['DELETE', at('/webhooks/:id'), 'administer', removing('webhook', webhooks, (asked, webhook) => {
    const named = rules(asked).filter(({ webhook_id }) => webhook_id === webhook.id);
    return named.length > 0 ? problem(409, 'webhook-in-use', `webhook ${webhook.id} is named by rule ${named[0]!.id}`, 'give these rules another webhook first') : null;
  })],
  ['POST', at('/webhooks/:id/test'), 'administer', (asked) => {
    const webhook = webhooks(asked).find(({ id }) => id === Number(asked.ids[0]));
    if (!webhook) return missing('webhook', asked);
    const { office, nowMs } = asked.world;
    const id = office.id;
    const delivery: Schemas['DeliveryShown'] = {
      id, message_id: `5b1f0c1e-7a0e-4d7e-9c55-${String(id).padStart(12, '0')}`, webhook_id: webhook.id, alert_id: null, about: 'TEST', state: 'PENDING', tries: 0, status: null,
      problem: null, next_try_at: iso(nowMs), created_at: iso(nowMs), ended_at: null,
    };
    office.deliveries.unshift(delivery);
    noted(asked, 'test', 'webhook', webhook.id, null, null);
    return Response.json(delivery, { status: 202 });
  }],
  ['GET', at('/webhooks/:id/deliveries'), 'view', ({ world, ids, query }) => {
    world.office.deliver(world.nowMs);
    return listAnswer(world.office.deliveries.filter(({ webhook_id }) => webhook_id === Number(ids[0])), query, 'deliveries');
  }],
  ['GET', at('/webhooks/:id/deliveries/:id'), 'view', (asked) => {
    asked.world.office.deliver(asked.world.nowMs);
    const found = asked.world.office.deliveries.find(({ id }) => id === Number(asked.ids[1]));
    return found ? Response.json(found) : missing('delivery', asked);
  }],
];

/** The filter `name` is a part of it, as `q` of jobs is. */
function partOfName(query: URLSearchParams): URLSearchParams {
  const { name, ...filter } = JSON.parse(query.get('filter') ?? '{}') as Record<string, unknown>;
  const found = new URLSearchParams(query);
  found.set('filter', JSON.stringify(name === undefined ? filter : { ...filter, q: name }));
  return found;
}
