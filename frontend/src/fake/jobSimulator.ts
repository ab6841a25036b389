/** Simulates jobs that take checkpoints, report metrics and execute operations. Time passes only when `advance` is called. */
import type { Schemas } from '../api/types';
import { simulateSnapshots } from './checkpoints';
import { initialLog, writeEvent } from './logs';
import { bottleneckOf } from './metrics';
import { iso, type FakeCheckpoint, type FakeJob, type JobTemplate, type SubtaskSnapshot } from './model';
import { Random } from './random';

/** Return the reasons of an unhealthy fake job. All fake jobs have the same code. */
const healthReasons = (text: string): Schemas['HealthReasonRead'][] => (text === '' ? [] : [{ code: 'not-running', text }]);

type Job = Schemas['JobRead'];

export const INTERVAL_MS = 10_000;
/** The typical duration of simulated checkpoints. Real checkpoints take less than 100 ms, which is too short to observe. */
export const TEMPO_MS = 3_000;
/** The default timeouts of a job. */
export const DEFAULT_TIMEOUTS = { heartbeat: '5s', stuck: '60s', call: '10m', slots: 'none', deploy: '60s', cancel: '3s', connect: '60s' };
const HISTORY = 60;
const DRIVER_LOST = 'DriverLost';
/** The trigger of imported checkpoints. */
const IMPORTED = 'import';

export class JobSimulator {
  readonly jobs: FakeJob[];
  /** A callback for each job that changes. */
  readonly listeners = new Set<(job: FakeJob) => void>();
  /** Functions that close open streams, as the API does when a token is revoked. */
  readonly streamClosers = new Set<() => void>();
  readonly random: Random;
  #ids = 1000;

  nowMs: number;

  /**
   * `nowMs` is rounded down to a whole second, because the page also rounds its clock down. Without the rounding, the page could show a timestamp
   * that is exactly one minute old as "59 s ago".
   */
  constructor(nowMs: number, seed: number, templates: readonly JobTemplate[]) {
    this.nowMs = Math.floor(nowMs / 1_000) * 1_000;
    this.random = new Random(seed);
    this.jobs = templates.map((template, index) => this.#createJob(template, index + 1));
  }

  get id(): number {
    return (this.#ids += 1);
  }

  find(jobId: number): FakeJob | undefined {
    return this.jobs.find(({ job }) => job.id === jobId);
  }

  remove(one: FakeJob): void {
    this.jobs.splice(this.jobs.indexOf(one), 1);
    for (const listener of this.listeners) listener(one);
  }

  /** Simulate until this time. */
  advance(toMs: number): void {
    this.nowMs = Math.max(this.nowMs, toMs);
    for (const one of this.jobs) {
      if (one.job.state !== 'RUNNING') continue;
      one.job.run!.last_contact_at = one.runs[0]!.last_contact_at = iso(this.nowMs);
      const current = one.checkpoints[0];
      if (current?.body.state === 'IN_PROGRESS') this.#acknowledge(one, current);
      else if (this.nowMs >= one.nextTriggerMs) this.#trigger(one, 'periodic');
    }
  }

  trigger(one: FakeJob, trigger: string): void {
    if (one.checkpoints[0]?.body.state !== 'IN_PROGRESS') this.#trigger(one, trigger);
  }

  /** Execute an operation immediately. */
  runOperation(one: FakeJob, kind: Schemas['OperationKind'], request: Schemas['OperationRead']['request'] = {}): Schemas['OperationRead'] {
    const { job } = one;
    if (kind === 'savepoint') this.trigger(one, 'savepoint');
    if (kind === 'checkpoint') this.trigger(one, 'manual');
    if (kind === 'suspend' || kind === 'cancel') this.#stop(one, kind === 'suspend' ? 'SUSPENDED' : 'CANCELED');
    if (kind === 'start') this.#start(one, 'start', { mode: 'resume', ...request });
    job.version += 1;
    const operation: Schemas['OperationRead'] = {
      id: this.id, job_id: job.id, kind, state: 'SUCCEEDED', request, result: {}, problem: null, steps: [], created_by: 1,
      created_at: iso(this.nowMs), deadline_at: iso(this.nowMs + 60_000), ended_at: iso(this.nowMs),
    };
    one.operations.unshift(operation);
    if (kind === 'start' || kind === 'suspend' || kind === 'cancel') this.emit(one, 'DesiredStateChanged', { desired_state: job.desired_state, by: 'admin' }, false);
    else this.emit(one, 'OperationEnded', { operation: operation.id, operation_kind: kind, state: operation.state }, false);
    return operation;
  }

  emit(one: FakeJob, kind: string, fields: Record<string, unknown>, byDriver = true): void {
    const at = iso(this.nowMs);
    const number = (one.events.at(-1)?.number ?? 0) + 1;
    one.events.push({
      id: this.id, job_id: one.job.id, number, run_id: one.job.run?.id ?? null, run_event: byDriver ? number : null, kind, fields, at, received_at: at,
    });
    if (one.events.length > 2000) one.events.splice(0, 500);
    if (byDriver) writeEvent(one, kind, fields, this.nowMs);
    for (const listener of this.listeners) listener(one);
  }

  // ---- checkpoints ---------------------------------------------------------------------------

  #trigger(one: FakeJob, trigger: string): void {
    const number = (one.checkpoints[0]?.body.number ?? 0) + 1;
    const checkpoint = this.#checkpoint(one, number, this.nowMs, trigger);
    one.checkpoints.unshift(checkpoint);
    one.checkpoints.length = Math.min(one.checkpoints.length, HISTORY * 2);
    one.nextTriggerMs = this.nowMs + (one.template.intervalMs ?? INTERVAL_MS);
    this.emit(one, 'CheckpointTriggered', { checkpoint: number, generation: one.job.run!.generation, trigger, subtasks: checkpoint.body.subtasks });
  }

  #acknowledge(one: FakeJob, { body, snapshots }: FakeCheckpoint): void {
    const passed = this.nowMs - Date.parse(body.triggered_at);
    const acknowledged = snapshots.filter(({ afterMs }) => afterMs <= passed).length;
    if (acknowledged > body.acknowledged) {
      body.acknowledged = acknowledged;
      body.latest_ack_at = iso(Date.parse(body.triggered_at) + snapshots[acknowledged - 1]!.afterMs);
    }
    if (acknowledged === snapshots.length) {
      complete(body, snapshots);
      one.job.last_checkpoint = briefOf(body);
      this.emit(one, 'CheckpointCompleted', {
        checkpoint: body.number, generation: body.generation, trigger: body.trigger, end_to_end_ms: body.end_to_end_ms, state_bytes: body.state_bytes,
      });
    } else for (const listener of this.listeners) listener(one);
  }

  #checkpoint(one: FakeJob, number: number, triggeredMs: number, trigger: string): FakeCheckpoint {
    const { template, job } = one;
    const tempo = (template.tempoMs ?? TEMPO_MS) * (1 + template.backpressure * 2);
    const snapshots = simulateSnapshots(template.graph, template.stateBytes, tempo, this.random);
    return {
      snapshots,
      body: {
        id: this.id, job_id: job.id, run_id: job.run!.id, number, generation: job.run!.generation, state: 'IN_PROGRESS', trigger,
        is_savepoint: trigger === 'savepoint' || trigger === IMPORTED, parent: number > 1 ? number - 1 : null, triggered_at: iso(triggeredMs), latest_ack_at: null,
        completed_at: null, failed_at: null, failure: null, end_to_end_ms: null, state_bytes: null, checkpointed_bytes: null, subtasks: snapshots.length, acknowledged: 0,
        pinned: false, pinned_reason: '', pins: [], pin_in_force: false, deleting_since: null, discarded_at: null, verified_at: null, damage: null, version: 1, actions: [], kept_because: [],
      },
    };
  }

  // ---- operations ----------------------------------------------------------------------------

  /** Suspend a job. The job's last checkpoint completes immediately. */
  stopWithCheckpoint(one: FakeJob): void {
    if (one.checkpoints[0]?.body.state === 'IN_PROGRESS') one.checkpoints.shift();
    this.#completeCheckpoint(one, 'suspend');
    this.#stop(one, 'SUSPENDED');
  }

  /** Start a run. If the run restores an external checkpoint, add a completed imported checkpoint to the job. */
  startFrom(one: FakeJob, cause: string, start: Schemas['RunRead']['start']): void {
    this.#start(one, cause, start);
    if (start.mode === 'path') this.#completeCheckpoint(one, IMPORTED);
  }

  #completeCheckpoint(one: FakeJob, trigger: string): void {
    this.#trigger(one, trigger);
    const { body, snapshots } = one.checkpoints[0]!;
    complete(body, snapshots);
    one.job.last_checkpoint = briefOf(body);
    this.emit(one, 'CheckpointCompleted', { checkpoint: body.number, generation: body.generation, trigger, end_to_end_ms: body.end_to_end_ms, state_bytes: body.state_bytes });
  }

  /** Add a deployed job. */
  add(template: JobTemplate): FakeJob {
    const one = this.#createJob(template, Math.max(0, ...this.jobs.map(({ job }) => job.id)) + 1);
    this.jobs.push(one);
    return one;
  }

  #stop(one: FakeJob, state: 'SUSPENDED' | 'CANCELED'): void {
    const { job } = one;
    job.desired_state = state === 'SUSPENDED' ? 'SUSPENDED' : 'CANCELLED';
    this.#setState(one, state, 'healthy', '');
    if (one.checkpoints[0]?.body.state === 'IN_PROGRESS') one.checkpoints.shift();
    if (job.run) job.run.ended_at = one.runs[0]!.ended_at = iso(this.nowMs);
    this.emit(one, 'RunStateChanged', { state, generation: job.run?.generation ?? 1, reason: '', kind: '' });
  }

  #start(one: FakeJob, cause = 'start', start: Record<string, unknown> = { mode: 'resume' }): void {
    const { job } = one;
    job.desired_state = 'RUNNING';
    const number = (one.runs[0]?.number ?? 0) + 1;
    one.runs.unshift(this.#run(job.id, number, 'RUNNING', this.nowMs, cause, start));
    one.logs.set(one.runs[0]!.id, initialLog(one.runs[0]!, []));
    job.run = briefOfRun(one.runs[0]!);
    this.#setState(one, 'RUNNING', 'healthy', '');
    one.nextTriggerMs = this.nowMs + 2_000;
    this.emit(one, 'RunStateChanged', { state: 'RUNNING', generation: 1, reason: '', kind: '' });
  }

  #setState({ job, runs, template }: FakeJob, state: Schemas['RunState'], health: Schemas['Health'], reason: string): void {
    job.state = state;
    job.health = health;
    job.health_reason = reason;
    job.health_reasons = healthReasons(reason);
    job.bottleneck = state === 'RUNNING' ? bottleneckOf(template, this.nowMs) : null;
    if (job.run) job.run.state = runs[0]!.state = state;
  }

  // ---- initial jobs --------------------------------------------------------------------------

  #createJob(template: JobTemplate, id: number): FakeJob {
    const ran = template.state !== 'CREATED';
    const beganMs = this.nowMs - 3_600_000 * this.random.between(3, 60);
    const first = ran ? [this.#run(id, 1, 'FAILED', beganMs - 7_200_000, 'deploy')] : [];
    const runs = ran ? [this.#run(id, 2 + template.restarts, template.state, beganMs, template.restarts > 0 ? 'restart' : 'start'), ...first] : [];
    const job: Job = {
      id, name: template.name, description: template.description, labels: template.labels, desired_state: template.desired, state: template.state, health: template.health,
      health_reason: template.healthReason, health_reasons: healthReasons(template.healthReason), bottleneck: template.state === 'RUNNING' ? bottleneckOf(template, this.nowMs - 240_000) : null, spec_number: 2, spec_state: 'VALID', version: 4, restarts: template.restarts, restart_at: null, run: runs[0] ? briefOfRun(runs[0]) : null,
      last_checkpoint: null, operation: null, actions: [], created_at: iso(beganMs - 86_400_000), updated_at: iso(beganMs),
    };
    const one: FakeJob = {
      template, job, runs, specs: specsOf(id, beganMs, template), checkpoints: [], events: [], failures: [], plans: [], operations: [], logs: new Map(),
      nextTriggerMs: this.nowMs + this.random.between(500, 6_000),
    };
    if (template.lastCheckpointAgeS !== null) this.#addCheckpoints(one, this.nowMs - template.lastCheckpointAgeS * 1000);
    this.#addFailures(one, beganMs);
    for (const run of runs) one.logs.set(run.id, initialLog(run, one.failures));
    const keep = this.nowMs;
    for (const { body } of [...one.checkpoints].reverse().slice(-20)) {
      this.nowMs = Date.parse(body.completed_at ?? body.failed_at!);
      if (body.state === 'FAILED') this.emit(one, 'CheckpointFailed', { checkpoint: body.number, reason: body.failure });
      else this.emit(one, 'CheckpointCompleted', { checkpoint: body.number, generation: 1, trigger: body.trigger, end_to_end_ms: body.end_to_end_ms, state_bytes: body.state_bytes });
    }
    this.nowMs = keep;
    return one;
  }

  #addCheckpoints(one: FakeJob, lastMs: number): void {
    for (let number = 1; number <= HISTORY; number += 1) {
      const completedMs = lastMs - (HISTORY - number) * INTERVAL_MS;
      const checkpoint = this.#checkpoint(one, number, completedMs, number % 25 === 0 ? 'savepoint' : 'periodic');
      const { body, snapshots } = checkpoint;
      body.triggered_at = iso(completedMs - snapshots.at(-1)!.afterMs);
      if (number % 17 === 0 && number !== HISTORY) {
        body.state = 'FAILED';
        body.acknowledged = snapshots.length - 1;
        body.failed_at = iso(completedMs);
        body.failure = 'subtask counts [1] declined: the checkpoint storage did not respond within 30 s';
      } else complete(body, snapshots);
      if (number < HISTORY - 20 && !body.is_savepoint) body.discarded_at = iso(completedMs + 200 * 1000);
      one.checkpoints.unshift(checkpoint);
    }
    const newest = one.checkpoints.find(({ body }) => body.state === 'COMPLETED');
    one.job.last_checkpoint = newest ? briefOf(newest.body) : null;
  }

  #addFailures(one: FakeJob, beganMs: number): void {
    const given = one.template.state === 'FAILED';
    for (let at = 0; at < Math.min(one.job.restarts, 12); at += 1) {
      const failedMs = beganMs + at * 400_000;
      const over = given && at === one.job.restarts - 1;
      one.failures.unshift({
        id: this.id, job_id: one.job.id, run_id: one.runs[0]!.id, generation: at + 1, kind: at % 3 === 2 ? DRIVER_LOST : given ? 'SinkError' : 'SlotLost',
        reason: given ? 'sink out: disk quota exceeded on /warehouse/orders' : 'slot 2 was lost: executor killed by the cluster manager',
        at: iso(failedMs), recovered_at: over ? null : iso(failedMs + 4_000), downtime_ms: over ? null : 4_000 + 300 * at, recovery: over ? 'none' : at % 3 === 2 ? 'restart' : 'full',
      });
    }
  }

  #run(jobId: number, number: number, state: Schemas['RunState'], beganMs: number, cause: string, start: Record<string, unknown> = { mode: 'resume' }): Schemas['RunRead'] {
    const over = state === 'FINISHED' || state === 'SUSPENDED' || state === 'CANCELED' || state === 'FAILED';
    return {
      id: this.id, job_id: jobId, number, spec_id: 10 * jobId + 2, graph_id: jobId, state, reason: state === 'FAILED' ? 'sink out: disk quota exceeded' : '', cause,
      start, generation: 1, stored_event: 1, missing_events: 0, host: 'worker-3.weir.example', pid: 40_000 + jobId,
      last_contact_at: iso(state === 'RECONCILING' ? this.nowMs - 310_000 : over ? beganMs + 900_000 : this.nowMs - 1_000), created_at: iso(beganMs), submitted_at: iso(beganMs + 200),
      running_at: iso(beganMs + 6_100), ended_at: over ? iso(beganMs + 900_000) : null, fenced_at: null,
      directory: `run-${number}`, files_cleared_at: null, reassignment_problem: null,
    };
  }
}

function complete(body: Schemas['CheckpointRead'], measured: readonly SubtaskSnapshot[]): void {
  const tookMs = measured.at(-1)!.afterMs;
  body.state = 'COMPLETED';
  body.acknowledged = measured.length;
  body.end_to_end_ms = tookMs;
  body.latest_ack_at = body.completed_at = iso(Date.parse(body.triggered_at) + tookMs);
  body.state_bytes = measured.reduce((sum, { stateBytes }) => sum + stateBytes, 0);
  // A savepoint and the first checkpoint do not refer to files of other checkpoints.
  body.checkpointed_bytes = body.is_savepoint || body.parent === null ? body.state_bytes : measured.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0);
}

function briefOf({ id, number, completed_at, is_savepoint, end_to_end_ms, state_bytes }: Schemas['CheckpointRead']): Schemas['CheckpointSummaryRead'] {
  return { id, number, completed_at: completed_at!, is_savepoint, end_to_end_ms, state_bytes };
}

function briefOfRun({ id, number, state, reason, cause, generation, graph_id, created_at, running_at, ended_at, last_contact_at }: Schemas['RunRead']): Schemas['RunSummaryRead'] {
  return { id, number, state, reason, cause, generation, graph_id, created_at, running_at, ended_at, last_contact_at };
}

function specsOf(jobId: number, beganMs: number, { graph }: JobTemplate): Schemas['SpecRead'][] {
  return [2, 1].map((number) => ({
    id: 10 * jobId + number, job_id: jobId, number, artifact_id: number, state: 'VALID', problem: null, graph_id: jobId, created_by: 1,
    comment: number === 2 ? 'Use four slots and halve the checkpoint interval' : 'first version', created_at: iso(beganMs - (3 - number) * 86_400_000),
    body: {
      artifact: '5f2b6d0c9a'.repeat(6) + 'abcd', entry: 'job', parallelism: number === 2 ? graph.slots : Math.max(1, graph.slots / 2), spares: 0, master: 'local',
      allow_non_restored_state: false, parameters: { input_dir: '/data/in', window: '5 min' }, spark_conf: {},
      checkpointing: { interval: number === 2 ? '10s' : '20s', timeout: '10m', min_pause: number === 2 ? '5s' : '0s', tolerable_failed_checkpoints: 3, retained: 3, directory: null, staging_directory: null },
      timeouts: DEFAULT_TIMEOUTS, network_memory: '256MiB', buffer_timeout: 'adaptive', recovery: 'regional',
      restart: { attempts: 10, initial_s: 1, max_s: 60, multiplier: 2, reset_after_s: 300 },
    },
  }));
}
