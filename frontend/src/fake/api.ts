/**
 * The API of the invented installation: takes requests, gives answers, as the real one would. Everything above `fetch` is the real thing:
 * client, data provider, log-in, streams. Password of everybody: `weir`; names: viewer, operator, admin (who may roll back).
 */
import type { Permission, Schemas } from '../api/types';
import { summaryOf } from '../shared/statistics';
import { detailOf, latestRestore } from './checkpointing';
import { addVersion, deploy, upload } from './deploying';
import { listAnswer } from './lists';
import { metricsOf, ratesOf } from './measuring';
import { iso } from './moments';
import { OFFICE_ROUTES } from './officeRoutes';
import { decide, propose } from './recovery';
import { Refusal } from './refusal';
import { at, problem, type Answer, type Asked, type Route } from './routes';
import { checkpointSeries } from './series';
import { followJob, followJobs } from './streams';
import type { FakeCheckpoint, FakeJob, World } from './world';

const PASSWORD = 'weir';
const OF_ROLE: Record<string, Permission[]> = { viewer: ['view'], operator: ['view', 'operate'], admin: ['view', 'operate', 'administer', 'rollback'] };

export class FakeApi {
  /** Who is logged in; the browser's cookie, as it were. */
  user: keyof typeof OF_ROLE | null;
  /** The provider of OpenID Connect, if one is configured. */
  oidc: Schemas['OidcView'] | null = null;
  /** As if the control plane were away. */
  away = false;
  /** All that was asked for, the newest last: `POST /api/v1/jobs/1/suspend`. */
  readonly asked: Request[] = [];

  constructor(
    readonly world: World,
    user: 'viewer' | 'operator' | 'admin' | null = null,
  ) {
    this.user = user;
  }

  answer = async (request: Request): Promise<Response> => {
    this.asked.push(request.clone());
    if (this.away) throw new TypeError('Failed to fetch');
    const url = new URL(request.url);
    if (url.pathname === '/api/v1/session') return this.#session(request);
    if (url.pathname === '/api/v1/session/visit') return Response.json({ session: this.user === null ? null : this.#view(), oidc: this.oidc } satisfies Schemas['VisitView']);
    for (const [method, path, needs, answer] of [...ROUTES, ...OFFICE_ROUTES]) {
      const found = path.exec(url.pathname);
      if (!found || method !== request.method) continue;
      if (this.user === null) return unauthenticated();
      if (needs && !OF_ROLE[this.user]!.includes(needs)) return problem(403, 'forbidden', `${this.user} may not do this: it needs the permission '${needs}'`, 'ask an administrator for it');
      return answer({ world: this.world, who: this.user, may: OF_ROLE[this.user]!, request, query: url.searchParams, ids: found.slice(1) });
    }
    return problem(404, 'not-found', `the fake API has no ${request.method} ${url.pathname}`, 'add it to src/fake/api.ts');
  };

  /** The token of who is logged in is not valid any more. */
  revoke(): void {
    this.user = null;
    for (const takeAway of this.world.followers) takeAway();
  }

  async #session(request: Request): Promise<Response> {
    if (request.method === 'DELETE') {
      this.revoke();
      return new Response(null, { status: 204 });
    }
    if (request.method === 'POST') {
      const { name, password } = (await request.json()) as Schemas['Login'];
      if (!(name in OF_ROLE) || password !== PASSWORD) return problem(401, 'login-refused', 'name and password do not fit, or the account is disabled', 'try again');
      this.user = name;
      return Response.json({ ...this.#view(), token: 'weir_shown_once' }, { status: 201 });
    }
    return this.user === null ? unauthenticated() : Response.json(this.#view());
  }

  #view(): Schemas['SessionView'] {
    const role = this.user as Schemas['Role'];
    return {
      user_id: this.world.office.users.find(({ name }) => name === role)!.id, name: role, role, rollback: role === 'admin', permissions: OF_ROLE[role]!, has_password: true, token_id: 1, token_kind: 'session',
      expires_at: iso(this.world.nowMs + 43_200_000),
    };
  }
}

const unauthenticated = (): Response => problem(401, 'unauthenticated', "this needs a token", "send 'Authorization: Bearer TOKEN', or log in");

// ---- routes ------------------------------------------------------------------------------------

/** The job in the path, or the problem that there is none. */
function ofJob(answer: (asked: Asked & { one: FakeJob }) => Answer): Route[3] {
  return (asked) => {
    const one = asked.world.find(Number(asked.ids[0]));
    return one ? answer({ ...asked, one }) : problem(404, 'not-found', `there is no job ${asked.ids[0]}`);
  };
}

/** A list over all jobs. */
function all(unit: string, rows: (one: FakeJob) => readonly object[]): Route[3] {
  return ({ world, query }) => listAnswer(world.jobs.flatMap(rows), query, unit);
}

const verb = (kind: Schemas['OperationKind']): Route[3] => ofJob(({ world, one }) => Response.json(world.obey(one, kind), { status: 202 }));

/** What a verb answers, or why it is refused. */
function orRefused(found: object, status: number): Response {
  return found instanceof Refusal ? problem(found.status, found.code, found.detail, found.next) : Response.json(found, { status });
}

const planVerb = (verb: 'approve' | 'apply' | 'withdraw'): Route[3] => ({ world, ids, may }) => {
  const one = world.jobs.find(({ plans }) => plans.some(({ id }) => id === Number(ids[0])));
  if (!one) return problem(404, 'no-plan', `there is no plan ${ids[0]}`);
  return orRefused(decide(world, one, one.plans.find(({ id }) => id === Number(ids[0]))!, verb, may), verb === 'apply' ? 202 : 200);
};

function tagged(job: Schemas['JobShown']): Response {
  return Response.json(job, { headers: { ETag: `"${job.version}"` } });
}

function checkpointOf({ world, ids }: Asked): { one: FakeJob; checkpoint: FakeCheckpoint } | null {
  for (const one of world.jobs) {
    const checkpoint = one.checkpoints.find(({ body }) => body.id === Number(ids[0]));
    if (checkpoint) return { one, checkpoint };
  }
  return null;
}

function summary(one: FakeJob, last: number): Schemas['JobSummaryBody'] {
  const bodies = one.checkpoints.map(({ body }) => body);
  const completed = bodies.filter(({ state }) => state === 'COMPLETED');
  const over = completed.slice(0, last);
  return {
    counts: {
      in_progress: bodies.filter(({ state }) => state === 'IN_PROGRESS').length, completed: completed.length, failed: bodies.filter(({ state }) => state === 'FAILED').length,
      savepoints: completed.filter(({ is_savepoint }) => is_savepoint).length, total: bodies.length,
    },
    over: over.length, end_to_end_duration: summaryOf(over.map(({ end_to_end_ms }) => end_to_end_ms!)), state_size: summaryOf(over.map(({ state_bytes }) => state_bytes!)),
    checkpointed_size: summaryOf(over.map(({ checkpointed_bytes }) => checkpointed_bytes!)),
    latest_completed: completed[0] ?? null, latest_failed: bodies.find(({ state }) => state === 'FAILED') ?? null, latest_savepoint: completed.find(({ is_savepoint }) => is_savepoint) ?? null,
    latest_restore: latestRestore(one),
  };
}

/** A change says which version it is of. Null: that is the one there is. */
function notAsSeen({ request }: Pick<Asked, 'request'>, { version }: { version: number }): Response | null {
  const seen = request.headers.get('If-Match');
  if (seen === null) return problem(428, 'no-version', 'a change has to say which version it is of', 'send If-Match');
  return seen === '*' || seen === `"${version}"` ? null : problem(412, 'stale', `it is version ${version} by now, and ${seen} was seen`, 'read it again, and decide anew');
}

function gone({ world, one }: { world: World; one: FakeJob }): Response {
  world.remove(one);
  return new Response(null, { status: 204 });
}

const ROUTES: readonly Route[] = [
  ['GET', at('/jobs'), 'view', ({ world, query }) => listAnswer(world.jobs.map(({ job }) => job), query, 'jobs', ['name', 'ASC'])],
  ['POST', at('/jobs'), 'operate', async ({ world, request }) => orRefused(deploy(world, (await request.json()) as Schemas['JobDraft']), 201)],
  ['GET', at('/jobs/:id'), 'view', ofJob(({ one }) => tagged(one.job))],
  ['DELETE', at('/jobs/:id'), 'operate', ofJob((asked) => notAsSeen(asked, asked.one.job) ?? gone(asked))],
  ['POST', at('/artifacts'), 'operate', async ({ world, request, query }) => Response.json(await upload(world, query.get('name')!, request), { status: 201 })],
  ['POST', at('/jobs/:id/specs'), 'operate', ofJob(async (asked) => notAsSeen(asked, asked.one.job) ?? Response.json(addVersion(asked.world, asked.one, (await asked.request.json()) as Schemas['SpecDraft']), { status: 201 }))],
  ['POST', at('/jobs/:id/plans'), 'operate', ofJob(async ({ world, one, request }) => orRefused(propose(world, one, (await request.json()) as Schemas['PlanDraft']), 201))],
  ['POST', at('/jobs/:id/start'), 'operate', verb('start')],
  ['POST', at('/jobs/:id/suspend'), 'operate', verb('suspend')],
  ['POST', at('/jobs/:id/cancel'), 'operate', verb('cancel')],
  ['POST', at('/jobs/:id/savepoints'), 'operate', verb('savepoint')],
  ['POST', at('/jobs/:id/checkpoints'), 'operate', verb('checkpoint')],
  ['GET', at('/jobs/:id/specs'), 'view', ofJob(({ one, query }) => listAnswer(one.specs, query, 'specs', ['number', 'DESC']))],
  ['GET', at('/jobs/:id/specs/:id'), 'view', ofJob(({ one, ids }) => {
    const spec = one.specs.find(({ number }) => number === Number(ids[1]));
    return spec ? Response.json(spec) : problem(404, 'not-found', `job ${one.job.id} has no version ${ids[1]}`);
  })],
  ['GET', at('/jobs/:id/specs/:id/graph'), 'view', ofJob(({ one, ids }) => {
    const spec = one.specs.find(({ number }) => number === Number(ids[1]));
    return spec?.state === 'VALID' ? Response.json({ id: one.job.id, body: one.scene.graph }) : problem(404, 'no-graph', `version ${ids[1]} has no graph`, 'try again soon');
  })],
  ['GET', at('/jobs/:id/specs/:id/diff/:id'), 'view', ofJob(({ ids }) => Response.json({
    before: Number(ids[1]), after: Number(ids[2]),
    changes: [
      { path: 'parallelism', before: 2, after: 4 }, { path: 'checkpointing.interval', before: '20s', after: '10s' }, { path: 'checkpointing.min_pause', before: '0s', after: '5s' },
    ],
    code: '--- job.py\n+++ job.py\n@@ -18,4 +18,5 @@\n def job(params):\n-    late = parse.filter(delay > 15)\n+    late = parse.filter(delay > 10)\n+    late.name("late only")\n     return late',
    operators_added: [], operators_removed: [], operators_changed: ['late'],
  } satisfies Schemas['SpecDiff']))],
  ['GET', at('/jobs/:id/failures'), 'view', ofJob(({ one, query }) => listAnswer(one.failures, query, 'failures'))],
  ['GET', at('/jobs/:id/checkpoints/summary'), 'view', ofJob(({ one, query }) => Response.json(summary(one, Number(query.get('last') ?? 100))))],
  ['GET', at('/jobs/:id/checkpoints/series'), 'view', ofJob(({ one, query }) => {
    const chain = query.get('chain');
    const series = checkpointSeries(one, Number(query.get('last') ?? 100), chain === null ? null : Number(chain), query.get('parts') !== 'false');
    return Response.json(series);
  })],
  ['POST', at('/jobs/:id/checkpoints/:id/verify'), 'operate', ofJob(({ world, one, ids }) => {
    const body = one.checkpoints.find(({ body: { number } }) => number === Number(ids[1]))?.body;
    if (!body || body.discarded_at !== null) return problem(404, 'no-checkpoint', `job '${one.job.name}' has no completed checkpoint ${ids[1]}`, 'list its checkpoints, and choose one');
    body.verified_at = iso(world.nowMs);
    return Response.json(world.obey(one, 'verify'), { status: 202 });
  })],
  ['DELETE', at('/jobs/:id/checkpoints/:id'), 'operate', ofJob(({ world, one, ids }) => {
    const body = one.checkpoints.find(({ body: { number } }) => number === Number(ids[1]))?.body;
    if (!body || body.discarded_at !== null) return problem(404, 'no-checkpoint', `job '${one.job.name}' has no completed checkpoint ${ids[1]}`, 'list its checkpoints, and choose one');
    if (one.job.run?.ended_at === null) return problem(409, 'running', `run ${one.job.run.number} is not over: of a running job only its driver deletes`, 'suspend the job first');
    body.discarded_at = iso(world.nowMs);
    return Response.json(world.obey(one, 'delete'), { status: 202 });
  })],
  ['GET', at('/jobs/:id/metrics'), 'view', ofJob(({ world, one, query }) => {
    const [since, chain] = [query.get('since'), query.get('chain')];
    return Response.json(metricsOf(one, world.nowMs, since ? Date.parse(since) : world.nowMs - 900_000, Number(query.get('step_s') ?? 10), chain === null ? null : Number(chain)));
  })],
  ['GET', at('/jobs/:id/events/stream'), 'view', ofJob(({ world, one, request }) => followJob(world, one, request.headers.get('Last-Event-ID'), request.signal))],
  ['GET', at('/stream'), 'view', ({ world, request }) => followJobs(world, request.signal)],
  ['GET', at('/metrics/jobs'), 'view', ({ world, query }) => {
    const wanted = query.getAll('job_id').map(Number);
    return Response.json(world.jobs.filter(({ job }) => wanted.includes(job.id)).map((one) => ratesOf(one, world.nowMs)).filter((rates) => rates !== null));
  }],
  ['GET', at('/runs'), 'view', all('runs', ({ runs }) => runs)],
  ['GET', at('/runs/:id/graph'), 'view', ({ world, ids }) => {
    const one = world.jobs.find(({ runs }) => runs.some(({ id }) => id === Number(ids[0])));
    return one ? Response.json({ id: one.job.id, digest: String(one.job.id).padStart(64, '0'), graph: one.scene.graph }) : problem(404, 'not-found', `there is no run ${ids[0]}`);
  }],
  ['GET', at('/checkpoints'), 'view', all('checkpoints', ({ checkpoints }) => checkpoints.map(({ body }) => body))],
  ['GET', at('/checkpoints/:id'), 'view', (asked) => {
    const found = checkpointOf(asked);
    if (!found) return problem(404, 'not-found', `there is no checkpoint ${asked.ids[0]}`);
    const { body, measured } = found.checkpoint;
    return Response.json(detailOf(body, found.one.scene.graph, measured.slice(0, body.acknowledged)));
  }],
  ['PATCH', at('/checkpoints/:id'), 'operate', async (asked) => {
    const found = checkpointOf(asked);
    if (!found) return problem(404, 'not-found', `there is no checkpoint ${asked.ids[0]}`);
    const { pinned, reason } = (await asked.request.json()) as Schemas['CheckpointPatch'];
    const stale = notAsSeen(asked, found.checkpoint.body);
    if (stale) return stale;
    Object.assign(found.checkpoint.body, { pinned, pinned_reason: reason ?? '', pin_in_force: pinned, version: found.checkpoint.body.version + 1 });
    asked.world.tell(found.one, pinned ? 'CheckpointPinned' : 'CheckpointUnpinned', { checkpoint: found.checkpoint.body.number }, false);
    return Response.json(found.checkpoint.body);
  }],
  ['GET', at('/events'), 'view', all('events', ({ events }) => events)],
  ['GET', at('/plans'), 'view', all('plans', ({ plans }) => plans)],
  ['GET', at('/plans/:id'), 'view', ({ world, ids }) => {
    const plan = world.jobs.flatMap(({ plans }) => plans).find(({ id }) => id === Number(ids[0]));
    return plan ? Response.json(plan) : problem(404, 'no-plan', `there is no plan ${ids[0]}`);
  }],
  ['POST', at('/plans/:id/approve'), 'operate', planVerb('approve')],
  ['POST', at('/plans/:id/apply'), 'operate', planVerb('apply')],
  ['POST', at('/plans/:id/withdraw'), 'operate', planVerb('withdraw')],
  ['GET', at('/operations/:id'), 'view', ({ world, ids }) => {
    const operation = world.jobs.flatMap(({ operations }) => operations).find(({ id }) => id === Number(ids[0]));
    return operation ? Response.json(operation) : problem(404, 'no-operation', `there is no operation ${ids[0]}`);
  }],
  ['GET', at('/operations'), 'view', all('operations', ({ operations }) => operations)],
];
