/**
 * The API of the fake installation. The fake API replaces `fetch`. The client, the data provider, the log-in and the streams are real. The users
 * are viewer, operator and admin. Each user has the password `weir`. Only the user admin has the permission to roll back.
 */
import type { Permission, Schemas } from '../api/types';
import { isPeriodic, isRoutine } from '../pages/job/events/routineEvents';
import { summarize } from '../shared/statistics';
import { withActions } from './actions';
import { checkpointDetail, checkpointSeries, latestRestore } from './checkpoints';
import { addVersion, deploy, upload } from './specs';
import { listResponse } from './lists';
import { logResponse } from './logs';
import { metricsOf, ratesOf } from './metrics';
import { FakeProblem, iso, pinOf, type FakeCheckpoint, type FakeJob } from './model';
import { ADMINISTRATION_ROUTES } from './administrationRoutes';
import { coverageOf, decide, propose } from './plans';
import { profileOf, takeProfile } from './profiles';
import { apiPath, checkIfMatch, problem, type Route, type RouteRequest, type RouteResponse } from './routes';
import { streamJob, streamJobs } from './streams';
import type { Installation } from './installation';

type ProfileCreate = Pick<Schemas['ProfileCreate'], 'slot'> & Partial<Schemas['ProfileCreate']>;

const PASSWORD = 'weir';
const ROLE_PERMISSIONS: Record<string, Permission[]> = { viewer: ['view'], operator: ['view', 'operate'], admin: ['view', 'operate', 'administer', 'rollback'] };

export class FakeApi {
  /** The logged-in user. In the real API, a cookie identifies the session. */
  user: keyof typeof ROLE_PERMISSIONS | null;
  /** The configured OpenID Connect provider. */
  oidc: Schemas['OidcProviderRead'] | null = null;
  /** Simulates an unreachable API. */
  unreachable = false;
  /** All requests in the order in which they arrived. */
  readonly requests: Request[] = [];

  constructor(
    readonly installation: Installation,
    user: 'viewer' | 'operator' | 'admin' | null = null,
  ) {
    this.user = user;
  }

  handle = async (request: Request): Promise<Response> => {
    this.requests.push(request.clone());
    if (this.unreachable) throw new TypeError('Failed to fetch');
    const url = new URL(request.url);
    if (url.pathname === '/api/v1/session') return this.#session(request);
    if (url.pathname === '/api/v1/session/status') return Response.json({ session: this.user === null ? null : this.#view(), oidc: this.oidc } satisfies Schemas['LoginStatusRead']);
    for (const [method, path, needs, answer] of [...ROUTES, ...ADMINISTRATION_ROUTES]) {
      const found = path.exec(url.pathname);
      if (!found || method !== request.method) continue;
      if (this.user === null) return unauthenticated();
      if (needs && !ROLE_PERMISSIONS[this.user]!.includes(needs)) return problem(403, 'forbidden', `${this.user} does not have the permission '${needs}', which this request requires.`, 'Ask an administrator for the permission.');
      const permissions = ROLE_PERMISSIONS[this.user]!;
      return withActions(await answer({ installation: this.installation, userName: this.user, permissions, request, query: url.searchParams, ids: found.slice(1) }), this.installation, permissions, this.user);
    }
    return problem(404, 'not-found', `The fake API has no route for ${request.method} ${url.pathname}.`, 'Add the route to src/fake/api.ts.');
  };

  /** Revoke the token of the logged-in user. */
  revoke(): void {
    this.user = null;
    for (const close of this.installation.streamClosers) close();
  }

  async #session(request: Request): Promise<Response> {
    if (request.method === 'DELETE') {
      this.revoke();
      return new Response(null, { status: 204 });
    }
    if (request.method === 'POST') {
      const { name, password } = (await request.json()) as Schemas['LoginRequest'];
      if (!(name in ROLE_PERMISSIONS) || password !== PASSWORD) return problem(401, 'login-refused', 'Incorrect user name or password.', 'Try again, or ask an administrator whether the account is disabled.');
      this.user = name;
      return Response.json({ ...this.#view(), token: 'weir_shown_once' }, { status: 201 });
    }
    return this.user === null ? unauthenticated() : Response.json(this.#view());
  }

  #view(): Schemas['SessionRead'] {
    const role = this.user as Schemas['Role'];
    return {
      user_id: this.installation.administration.users.find(({ name }) => name === role)!.id, name: role, role, rollback: role === 'admin', permissions: ROLE_PERMISSIONS[role]!, has_password: true, token_id: 1, token_kind: 'session',
      expires_at: iso(this.installation.nowMs + 43_200_000),
    };
  }
}

const unauthenticated = (): Response => problem(401, 'unauthenticated', 'This request requires a token.', "Send 'Authorization: Bearer TOKEN', or log in.");

// ---- routes ------------------------------------------------------------------------------------

/** Return a route of one job. The route responds with 404 if the job does not exist. */
function withJob(answer: (asked: RouteRequest & { one: FakeJob }) => RouteResponse): Route[3] {
  return (asked) => {
    const one = asked.installation.find(Number(asked.ids[0]));
    return one ? answer({ ...asked, one }) : problem(404, 'not-found', `Job ${asked.ids[0]} does not exist.`);
  };
}

/** Return a list route, which calls `rows` for each job and lists all results. */
function listAll(unit: string, rows: (one: FakeJob) => readonly object[]): Route[3] {
  return ({ installation, query }) => listResponse(installation.jobs.flatMap(rows), query, unit);
}

const operationRoute = (kind: Schemas['OperationKind']): Route[3] => withJob(({ installation, one }) => Response.json(installation.runOperation(one, kind), { status: 202 }));

const startRoute = withJob(async ({ installation, one, request, permissions }) => {
  const body = await request.text();
  const { revoke_unknown_output } = (body === '' ? {} : JSON.parse(body)) as Partial<Schemas['JobStart']>;
  if (revoke_unknown_output && !permissions.includes('rollback')) return problem(403, 'forbidden', "This needs the permission 'rollback'.", 'Ask an administrator for this permission.');
  return Response.json(installation.runOperation(one, 'start', revoke_unknown_output ? { revoke_unknown_output } : {}), { status: 202 });
});

/** Return the response to a change, or a problem if the change was refused. */
function toResponse(found: object, status: number): Response {
  return found instanceof FakeProblem ? problem(found.status, found.code, found.detail, found.nextStep) : Response.json(found, { status });
}

const planRoute = (verb: 'approve' | 'apply' | 'discard'): Route[3] => async ({ installation, ids, permissions, request }) => {
  const one = installation.jobs.find(({ plans }) => plans.some(({ id }) => id === Number(ids[0])));
  if (!one) return problem(404, 'no-plan', `Plan ${ids[0]} does not exist.`);
  const digest = verb === 'approve' ? ((await request.json()) as Schemas['PlanApproval']).digest : null;
  return toResponse(decide(installation, one, one.plans.find(({ id }) => id === Number(ids[0]))!, verb, permissions, digest), verb === 'apply' ? 202 : 200);
};

function withETag(job: Schemas['JobRead']): Response {
  return Response.json(job, { headers: { ETag: `"${job.version}"` } });
}

function findCheckpoint({ installation, ids }: RouteRequest): { one: FakeJob; checkpoint: FakeCheckpoint } | null {
  for (const one of installation.jobs) {
    const checkpoint = one.checkpoints.find(({ body }) => body.id === Number(ids[0]));
    if (checkpoint) return { one, checkpoint };
  }
  return null;
}

function checkpointSummary(one: FakeJob, last: number): Schemas['CheckpointOverviewRead'] {
  const bodies = one.checkpoints.map(({ body }) => body);
  const completed = bodies.filter(({ state }) => state === 'COMPLETED');
  const newest = completed.slice(0, last);
  return {
    counts: {
      in_progress: bodies.filter(({ state }) => state === 'IN_PROGRESS').length, completed: completed.length, failed: bodies.filter(({ state }) => state === 'FAILED').length,
      savepoints: completed.filter(({ is_savepoint }) => is_savepoint).length, total: bodies.length,
    },
    summarized: newest.length, end_to_end_duration: summarize(newest.map(({ end_to_end_ms }) => end_to_end_ms!)), state_size: summarize(newest.map(({ state_bytes }) => state_bytes!)),
    checkpointed_size: summarize(newest.map(({ checkpointed_bytes }) => checkpointed_bytes!)),
    latest_completed: completed[0] ?? null, latest_failed: bodies.find(({ state }) => state === 'FAILED') ?? null, latest_savepoint: completed.find(({ is_savepoint }) => is_savepoint) ?? null,
    latest_restore: latestRestore(one),
  };
}

/** Add the field `routine`, so that the list can be filtered by it. */
function withRoutineFlag({ events }: FakeJob): object[] {
  const periodic = new Set(events.filter(isPeriodic).map(({ number }) => number));
  return events.map((event) => ({ ...event, routine: isRoutine(event.number, (number) => periodic.has(number)) }));
}

function deleteJob({ installation, one }: { installation: Installation; one: FakeJob }): Response {
  installation.remove(one);
  return new Response(null, { status: 204 });
}

const ROUTES: readonly Route[] = [
  ['GET', apiPath('/jobs'), 'view', ({ installation, query }) => listResponse(installation.jobs.map(({ job }) => job), query, 'jobs', ['name', 'ASC'])],
  ['POST', apiPath('/jobs'), 'operate', async ({ installation, request }) => toResponse(deploy(installation, (await request.json()) as Schemas['JobCreate']), 201)],
  ['GET', apiPath('/jobs/:id'), 'view', withJob(({ one }) => withETag(one.job))],
  ['DELETE', apiPath('/jobs/:id'), 'operate', withJob((asked) => checkIfMatch(asked, asked.one.job) ?? deleteJob(asked))],
  ['POST', apiPath('/artifacts'), 'operate', async ({ installation, request, query }) => Response.json(await upload(installation, query.get('name')!, request), { status: 201 })],
  ['POST', apiPath('/jobs/:id/specs'), 'operate', withJob(async (asked) => checkIfMatch(asked, asked.one.job) ?? Response.json(addVersion(asked.installation, asked.one, (await asked.request.json()) as Schemas['SpecCreate']), { status: 201 }))],
  ['POST', apiPath('/jobs/:id/plans'), 'operate', withJob(async ({ installation, one, request }) => toResponse(propose(installation, one, (await request.json()) as Schemas['PlanCreate']), 201))],
  ['POST', apiPath('/jobs/:id/start'), 'operate', startRoute],
  ['POST', apiPath('/jobs/:id/suspend'), 'operate', operationRoute('suspend')],
  ['POST', apiPath('/jobs/:id/cancel'), 'operate', operationRoute('cancel')],
  ['POST', apiPath('/jobs/:id/savepoints'), 'operate', operationRoute('savepoint')],
  ['POST', apiPath('/jobs/:id/checkpoints'), 'operate', operationRoute('checkpoint')],
  ['POST', apiPath('/jobs/:id/profiles'), 'operate', withJob(async ({ installation, one, request }) => toResponse(takeProfile(installation, one, (await request.json()) as ProfileCreate), 202))],
  ['GET', apiPath('/jobs/:id/specs'), 'view', withJob(({ one, query }) => listResponse(one.specs, query, 'specs', ['number', 'DESC']))],
  ['GET', apiPath('/jobs/:id/specs/:id'), 'view', withJob(({ one, ids }) => {
    const spec = one.specs.find(({ number }) => number === Number(ids[1]));
    return spec ? Response.json(spec) : problem(404, 'not-found', `Job ${one.job.id} has no version ${ids[1]}.`);
  })],
  ['GET', apiPath('/jobs/:id/specs/:id/graph'), 'view', withJob(({ one, ids }) => {
    const spec = one.specs.find(({ number }) => number === Number(ids[1]));
    return spec?.state === 'VALID' ? Response.json({ id: one.job.id, body: one.template.graph }) : problem(404, 'no-graph', `Version ${ids[1]} has no graph yet.`, 'Try again in a moment.');
  })],
  ['GET', apiPath('/jobs/:id/specs/:id/diff/:id'), 'view', withJob(({ ids }) => Response.json({
    before: Number(ids[1]), after: Number(ids[2]),
    changes: [
      { path: 'parallelism', before: 2, after: 4 }, { path: 'checkpointing.interval', before: '20s', after: '10s' }, { path: 'checkpointing.min_pause', before: '0s', after: '5s' },
    ],
    code: '--- job.py\n+++ job.py\n@@ -18,4 +18,5 @@\n def job(params):\n-    late = parse.filter(delay > 15)\n+    late = parse.filter(delay > 10)\n+    late.name("late only")\n     return late',
    operators_added: [], operators_removed: [], operators_changed: ['late'],
  } satisfies Schemas['SpecDiffRead']))],
  ['GET', apiPath('/jobs/:id/coverage'), 'view', withJob(({ one }) => Response.json(coverageOf(one)))],
  ['GET', apiPath('/jobs/:id/failures'), 'view', withJob(({ one, query }) => listResponse(one.failures, query, 'failures'))],
  ['GET', apiPath('/jobs/:id/checkpoints/summary'), 'view', withJob(({ one, query }) => Response.json(checkpointSummary(one, Number(query.get('last') ?? 100))))],
  ['GET', apiPath('/jobs/:id/checkpoints/series'), 'view', withJob(({ one, query }) => {
    const chain = query.get('chain');
    const series = checkpointSeries(one, Number(query.get('last') ?? 100), chain === null ? null : Number(chain), query.get('phases') !== 'false');
    return Response.json(series);
  })],
  ['POST', apiPath('/jobs/:id/checkpoints/:id/verify'), 'operate', withJob(({ installation, one, ids }) => {
    const body = one.checkpoints.find(({ body: { number } }) => number === Number(ids[1]))?.body;
    if (!body || body.discarded_at !== null) return problem(404, 'no-checkpoint', `Job '${one.job.name}' has no completed checkpoint ${ids[1]}.`, 'Choose one from its list of checkpoints.');
    body.verified_at = iso(installation.nowMs);
    return Response.json(installation.runOperation(one, 'verify'), { status: 202 });
  })],
  ['DELETE', apiPath('/jobs/:id/checkpoints/:id'), 'operate', withJob(({ installation, one, ids, permissions }) => {
    const body = one.checkpoints.find(({ body: { number } }) => number === Number(ids[1]))?.body;
    if (!body || body.discarded_at !== null) return problem(404, 'no-checkpoint', `Job '${one.job.name}' has no completed checkpoint ${ids[1]}.`, 'Choose one from its list of checkpoints.');
    if (body.is_savepoint && !permissions.includes('rollback')) return problem(403, 'forbidden', "This needs the permission 'rollback'.", 'Ask an administrator for this permission.');
    if (one.job.run?.ended_at === null) return problem(409, 'running', `Run ${one.job.run.number} is still running.`, 'Suspend the job first.');
    body.discarded_at = iso(installation.nowMs);
    return Response.json(installation.runOperation(one, 'delete'), { status: 202 });
  })],
  ['GET', apiPath('/jobs/:id/metrics'), 'view', withJob(({ installation, one, query }) => {
    const [since, chain] = [query.get('since'), query.get('chain')];
    return Response.json(metricsOf(one, installation.nowMs, since ? Date.parse(since) : installation.nowMs - 900_000, Number(query.get('step_s') ?? 10), chain === null ? null : Number(chain)));
  })],
  ['GET', apiPath('/jobs/:id/events/stream'), 'view', withJob(({ installation, one, request }) => streamJob(installation, one, request.headers.get('Last-Event-ID'), request.signal))],
  ['GET', apiPath('/stream'), 'view', ({ installation, request }) => streamJobs(installation, request.signal)],
  ['GET', apiPath('/metrics/jobs'), 'view', ({ installation, query }) => {
    const wanted = query.getAll('job_id').map(Number);
    return Response.json(installation.jobs.filter(({ job }) => wanted.includes(job.id)).map((one) => ratesOf(one, installation.nowMs)).filter((rates) => rates !== null));
  }],
  ['GET', apiPath('/runs'), 'view', listAll('runs', ({ runs }) => runs)],
  ['GET', apiPath('/runs/:id/graph'), 'view', ({ installation, ids }) => {
    const one = installation.jobs.find(({ runs }) => runs.some(({ id }) => id === Number(ids[0])));
    return one ? Response.json({ id: one.job.id, digest: String(one.job.id).padStart(64, '0'), graph: one.template.graph }) : problem(404, 'not-found', `Run ${ids[0]} does not exist.`);
  }],
  ['GET', apiPath('/runs/:id/log'), 'view', ({ installation, ids, query }) => {
    const one = installation.jobs.find(({ runs }) => runs.some(({ id }) => id === Number(ids[0])));
    const run = one?.runs.find(({ id }) => id === Number(ids[0]));
    return one && run ? logResponse(one, run, Number(query.get('offset') ?? 0)) : problem(404, 'no-run', `Run ${ids[0]} does not exist.`);
  }],
  ['GET', apiPath('/checkpoints'), 'view', listAll('checkpoints', ({ checkpoints }) => checkpoints.map(({ body }) => body))],
  ['GET', apiPath('/checkpoints/:id'), 'view', (asked) => {
    const found = findCheckpoint(asked);
    if (!found) return problem(404, 'not-found', `Checkpoint ${asked.ids[0]} does not exist.`);
    const { body, snapshots } = found.checkpoint;
    return Response.json(checkpointDetail(body, found.one.template.graph, snapshots.slice(0, body.acknowledged)));
  }],
  ['PATCH', apiPath('/checkpoints/:id'), 'operate', async (asked) => {
    const found = findCheckpoint(asked);
    if (!found) return problem(404, 'not-found', `Checkpoint ${asked.ids[0]} does not exist.`);
    const { pinned, reason } = (await asked.request.json()) as Schemas['CheckpointUpdate'];
    const stale = checkIfMatch(asked, found.checkpoint.body);
    if (stale) return stale;
    const { body } = found.checkpoint;
    const others = body.pins.filter(({ name }) => name !== asked.userName);
    if (!pinned && others.length === body.pins.length) return problem(409, 'pinned-by-others', `Checkpoint ${body.number} is pinned by ${others.map(({ name }) => name).join(', ')}.`);
    const pins = pinned ? [...others, pinOf(asked.userName, reason ?? '', asked.installation.nowMs)] : others;
    Object.assign(body, { pins, pinned: pins.length > 0, pinned_reason: pins[0]?.reason ?? '', pin_in_force: pins.length > 0, version: body.version + 1 });
    asked.installation.emit(found.one, pinned ? 'CheckpointPinned' : 'CheckpointUnpinned', { checkpoint: found.checkpoint.body.number }, false);
    return Response.json(found.checkpoint.body);
  }],
  ['GET', apiPath('/events'), 'view', listAll('events', withRoutineFlag)],
  ['GET', apiPath('/plans'), 'view', listAll('plans', ({ plans }) => plans)],
  ['GET', apiPath('/plans/:id'), 'view', ({ installation, ids }) => {
    const plan = installation.jobs.flatMap(({ plans }) => plans).find(({ id }) => id === Number(ids[0]));
    return plan ? Response.json(plan) : problem(404, 'no-plan', `Plan ${ids[0]} does not exist.`);
  }],
  ['POST', apiPath('/plans/:id/approve'), 'operate', planRoute('approve')],
  ['POST', apiPath('/plans/:id/apply'), 'operate', planRoute('apply')],
  ['POST', apiPath('/plans/:id/discard'), 'operate', planRoute('discard')],
  ['GET', apiPath('/operations/:id'), 'view', ({ installation, ids }) => {
    const operation = installation.jobs.flatMap(({ operations }) => operations).find(({ id }) => id === Number(ids[0]));
    return operation ? Response.json(operation) : problem(404, 'no-operation', `Operation ${ids[0]} does not exist.`);
  }],
  ['GET', apiPath('/operations/:id/profile'), 'view', ({ installation, ids }) => {
    const one = installation.jobs.find(({ operations }) => operations.some(({ id, state }) => id === Number(ids[0]) && state === 'SUCCEEDED'));
    return one ? Response.json(profileOf(one)) : problem(404, 'no-profile', `Operation ${ids[0]} has no profile.`);
  }],
  ['GET', apiPath('/operations'), 'view', listAll('operations', ({ operations }) => operations)],
];
