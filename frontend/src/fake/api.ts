/**
 * The API of the invented installation: takes requests, gives answers, as the real one would. Everything above `fetch` is the real thing:
 * client, data provider, log-in, streams. Password of everybody: `weir`; names: viewer, operator, admin (who may roll back).
 */
import type { Permission, Schemas } from '../api/types';
import { detailOf } from './checkpointing';
import { listAnswer } from './lists';
import { metricsOf, ratesOf } from './measuring';
import { followJob, followJobs } from './streams';
import { summaryOf } from './summaries';
import { iso, type FakeCheckpoint, type FakeJob, type World } from './world';

interface Asked {
  world: World;
  request: Request;
  query: URLSearchParams;
  /** What stood for `:id` and the like in the path. */
  ids: string[];
}
type Answer = Response | Promise<Response>;
type Route = [method: string, path: RegExp, needs: Permission | null, answer: (asked: Asked) => Answer];

const PASSWORD = 'weir';
const OF_ROLE: Record<string, Permission[]> = { viewer: ['view'], operator: ['view', 'operate'], admin: ['view', 'operate', 'administer', 'rollback'] };

export class FakeApi {
  /** Who is logged in; the browser's cookie, as it were. */
  user: keyof typeof OF_ROLE | null;
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
    for (const [method, path, needs, answer] of ROUTES) {
      const found = path.exec(url.pathname);
      if (!found || method !== request.method) continue;
      if (this.user === null) return unauthenticated();
      if (needs && !OF_ROLE[this.user]!.includes(needs)) return problem(403, 'forbidden', `${this.user} may not do this: it needs the permission '${needs}'`, 'ask an administrator for it');
      return answer({ world: this.world, request, query: url.searchParams, ids: found.slice(1) });
    }
    return problem(404, 'not-found', `the fake API has no ${request.method} ${url.pathname}`, 'add it to src/fake/api.ts');
  };

  async #session(request: Request): Promise<Response> {
    if (request.method === 'DELETE') {
      this.user = null;
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
      user_id: 1, name: role, role, rollback: role === 'admin', permissions: OF_ROLE[role]!, has_password: true, token_id: 1, token_kind: 'session',
      expires_at: iso(this.world.nowMs + 43_200_000),
    };
  }
}

export function problem(status: number, code: string, detail: string, next_step = ''): Response {
  return Response.json(
    { type: `urn:weir:problem:${code}`, title: code, status, detail, code, next_step },
    { status, headers: { 'Content-Type': 'application/problem+json', 'X-Request-Id': '4f1c0a77d2e95b36' } },
  );
}

const unauthenticated = (): Response => problem(401, 'unauthenticated', "this needs a token", "send 'Authorization: Bearer TOKEN', or log in");

// ---- routes ------------------------------------------------------------------------------------

const V1 = '/api/v1';
const at = (path: string): RegExp => new RegExp(`^${V1}${path.replaceAll(':id', '(\\d+)')}$`);

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
    latest_completed: completed[0] ?? null, latest_failed: bodies.find(({ state }) => state === 'FAILED') ?? null, latest_savepoint: completed.find(({ is_savepoint }) => is_savepoint) ?? null,
  };
}

const ROUTES: readonly Route[] = [
  ['GET', at('/jobs'), 'view', ({ world, query }) => listAnswer(world.jobs.map(({ job }) => job), query, 'jobs', ['name', 'ASC'])],
  ['GET', at('/jobs/:id'), 'view', ofJob(({ one }) => tagged(one.job))],
  ['POST', at('/jobs/:id/start'), 'operate', verb('start')],
  ['POST', at('/jobs/:id/suspend'), 'operate', verb('suspend')],
  ['POST', at('/jobs/:id/cancel'), 'operate', verb('cancel')],
  ['POST', at('/jobs/:id/savepoints'), 'operate', verb('savepoint')],
  ['GET', at('/jobs/:id/specs'), 'view', ofJob(({ one, query }) => listAnswer(one.specs, query, 'specs', ['number', 'DESC']))],
  ['GET', at('/jobs/:id/specs/:id'), 'view', ofJob(({ one, ids }) => {
    const spec = one.specs.find(({ number }) => number === Number(ids[1]));
    return spec ? Response.json(spec) : problem(404, 'not-found', `job ${one.job.id} has no version ${ids[1]}`);
  })],
  ['GET', at('/jobs/:id/specs/:id/graph'), 'view', ofJob(({ one }) => Response.json({ id: one.job.id, body: one.scene.graph }))],
  ['GET', at('/jobs/:id/specs/:id/diff/:id'), 'view', ofJob(({ ids }) => Response.json({
    before: Number(ids[1]), after: Number(ids[2]),
    changes: [{ path: 'parallelism', before: 2, after: 4 }, { path: 'checkpointing.interval', before: '20s', after: '10s' }],
    code: '--- job.py\n+++ job.py\n@@ -18,4 +18,5 @@\n def job(params):\n-    late = parse.filter(delay > 15)\n+    late = parse.filter(delay > 10)\n+    late.name("late only")\n     return late',
    operators_added: [], operators_removed: [], operators_changed: ['late'],
  } satisfies Schemas['SpecDiff']))],
  ['GET', at('/jobs/:id/failures'), 'view', ofJob(({ one, query }) => listAnswer(one.failures, query, 'failures'))],
  ['GET', at('/jobs/:id/checkpoints/summary'), 'view', ofJob(({ one, query }) => Response.json(summary(one, Number(query.get('last') ?? 100))))],
  ['GET', at('/jobs/:id/metrics'), 'view', ofJob(({ world, one, query }) => {
    const since = query.get('since');
    return Response.json(metricsOf(one, world.nowMs, since ? Date.parse(since) : world.nowMs - 900_000, Number(query.get('step_s') ?? 10)));
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
    return one ? Response.json({ id: one.job.id, digest: 'ab'.repeat(32), graph: one.scene.graph }) : problem(404, 'not-found', `there is no run ${ids[0]}`);
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
    Object.assign(found.checkpoint.body, { pinned, pinned_reason: reason ?? '', pin_in_force: pinned });
    asked.world.tell(found.one, pinned ? 'CheckpointPinned' : 'CheckpointUnpinned', { checkpoint: found.checkpoint.body.number }, false);
    return Response.json(found.checkpoint.body);
  }],
  ['GET', at('/events'), 'view', all('events', ({ events }) => events)],
  ['GET', at('/plans'), 'view', all('plans', ({ plans }) => plans)],
  ['GET', at('/operations'), 'view', all('operations', ({ operations }) => operations)],
];
