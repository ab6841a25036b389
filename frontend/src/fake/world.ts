/**
 * An invented installation that lives: jobs take checkpoints, tell what they count, obey verbs. Nothing of it happens by itself: whoever
 * has the clock calls `advance`.
 */
import type { Schemas } from '../api/types';
import { measuredBy, type Measured } from './checkpointing';
import { advanceCompiling } from './deploying';
import { subtasksOf } from './graph';
import { giveHistory } from './history';
import { Luck } from './luck';
import { iso } from './moments';
import { Office } from './office';
import { advancePlans } from './recovery';
import { SCENES, type Scene } from './scenes';

type Job = Schemas['JobShown'];
export interface FakeJob {
  scene: Scene;
  job: Job;
  runs: Schemas['RunBody'][];
  specs: Schemas['SpecShown'][];
  checkpoints: FakeCheckpoint[];
  events: Schemas['EventBody'][];
  failures: Schemas['FailureBody'][];
  plans: Schemas['PlanShown'][];
  operations: Schemas['OperationShown'][];
  nextTriggerMs: number;
}
export interface FakeCheckpoint {
  body: Schemas['CheckpointBody'];
  measured: Measured[];
}

export const INTERVAL_MS = 10_000;
/** Slower than real ones, which last less than a tenth of a second: there is something to see. */
export const TEMPO_MS = 3_000;
const HISTORY = 60;
const DRIVER_LOST = 'DriverLost';
/** The trigger of what was copied from elsewhere. */
const IMPORTED = 'import';

export class World {
  readonly jobs: FakeJob[];
  /** Called with the job that something has happened to. */
  readonly listeners = new Set<(job: FakeJob) => void>();
  /** Of each open stream, what takes it away from who follows. */
  readonly followers = new Set<() => void>();
  readonly luck: Luck;
  readonly office: Office;
  #ids = 1000;

  nowMs: number;

  /** It begins with a whole second, as the clock of the page goes by those: what is invented as a minute old is then never told as 59 s old. */
  constructor(nowMs: number, seed = 7, scenes: readonly Scene[] = SCENES) {
    this.nowMs = Math.floor(nowMs / 1_000) * 1_000;
    this.luck = new Luck(seed);
    this.office = new Office(this.nowMs);
    this.jobs = scenes.map((scene, at) => this.#begin(scene, at + 1));
    if (this.jobs[0]) giveHistory(this, this.jobs[0]);
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

  /** Lets happen what happens until then. */
  advance(toMs: number): void {
    this.nowMs = Math.max(this.nowMs, toMs);
    for (const one of this.jobs) {
      advanceCompiling(this, one);
      advancePlans(this, one);
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

  /** What was asked for, done at once. */
  obey(one: FakeJob, kind: Schemas['OperationKind']): Schemas['OperationShown'] {
    const { job } = one;
    if (kind === 'savepoint') this.trigger(one, 'savepoint');
    if (kind === 'checkpoint') this.trigger(one, 'manual');
    if (kind === 'suspend' || kind === 'cancel') this.#stop(one, kind === 'suspend' ? 'SUSPENDED' : 'CANCELED');
    if (kind === 'start') this.#start(one);
    job.version += 1;
    const operation: Schemas['OperationShown'] = {
      id: this.id, job_id: job.id, kind, state: 'SUCCEEDED', request: {}, result: {}, problem: null, steps: [], created_by: 1,
      created_at: iso(this.nowMs), deadline_at: iso(this.nowMs + 60_000), ended_at: iso(this.nowMs),
    };
    one.operations.unshift(operation);
    if (kind === 'start' || kind === 'suspend' || kind === 'cancel') this.tell(one, 'StateWanted', { desired: job.desired_state, by: 'admin' }, false);
    else this.tell(one, 'OperationEnded', { operation: operation.id, kind_: kind, state: operation.state }, false);
    return operation;
  }

  tell(one: FakeJob, kind: string, fields: Record<string, unknown>, byDriver = true): void {
    const at = iso(this.nowMs);
    const number = (one.events.at(-1)?.number ?? 0) + 1;
    one.events.push({
      id: this.id, job_id: one.job.id, number, run_id: one.job.run?.id ?? null, run_event: byDriver ? number : null, kind, fields, at, received_at: at,
    });
    if (one.events.length > 2000) one.events.splice(0, 500);
    for (const listener of this.listeners) listener(one);
  }

  // ---- checkpoints ---------------------------------------------------------------------------

  #trigger(one: FakeJob, trigger: string): void {
    const number = (one.checkpoints[0]?.body.number ?? 0) + 1;
    const checkpoint = this.#checkpoint(one, number, this.nowMs, trigger);
    one.checkpoints.unshift(checkpoint);
    one.checkpoints.length = Math.min(one.checkpoints.length, HISTORY * 2);
    one.nextTriggerMs = this.nowMs + (one.scene.intervalMs ?? INTERVAL_MS);
    this.tell(one, 'CheckpointTriggered', { checkpoint: number, generation: one.job.run!.generation, trigger, subtasks: checkpoint.body.subtasks });
  }

  #acknowledge(one: FakeJob, { body, measured }: FakeCheckpoint): void {
    const passed = this.nowMs - Date.parse(body.triggered_at);
    const acknowledged = measured.filter(({ afterMs }) => afterMs <= passed).length;
    if (acknowledged > body.acknowledged) {
      body.acknowledged = acknowledged;
      body.latest_ack_at = iso(Date.parse(body.triggered_at) + measured[acknowledged - 1]!.afterMs);
    }
    if (acknowledged === measured.length) {
      complete(body, measured);
      one.job.last_checkpoint = briefOf(body);
      this.tell(one, 'CheckpointCompleted', {
        checkpoint: body.number, generation: body.generation, trigger: body.trigger, end_to_end_ms: body.end_to_end_ms, state_bytes: body.state_bytes,
      });
    } else for (const listener of this.listeners) listener(one);
  }

  #checkpoint(one: FakeJob, number: number, triggeredMs: number, trigger: string): FakeCheckpoint {
    const { scene, job } = one;
    const tempo = (scene.tempoMs ?? TEMPO_MS) * (1 + scene.backpressure * 2);
    const measured = measuredBy(scene.graph, scene.stateBytes, tempo, this.luck);
    return {
      measured,
      body: {
        id: this.id, job_id: job.id, run_id: job.run!.id, number, generation: job.run!.generation, state: 'IN_PROGRESS', trigger,
        is_savepoint: trigger === 'savepoint' || trigger === IMPORTED, parent: number > 1 ? number - 1 : null, triggered_at: iso(triggeredMs), latest_ack_at: null,
        completed_at: null, failed_at: null, failure: null, end_to_end_ms: null, state_bytes: null, checkpointed_bytes: null, subtasks: measured.length, acknowledged: 0,
        pinned: false, pinned_reason: '', pin_in_force: false, leaving_at: null, discarded_at: null, verified_at: null, damage: null, version: 1,
      },
    };
  }

  // ---- verbs ---------------------------------------------------------------------------------

  /** A plan has it stopped: with a last checkpoint, which is there at once. */
  stopWithCheckpoint(one: FakeJob): void {
    if (one.checkpoints[0]?.body.state === 'IN_PROGRESS') one.checkpoints.shift();
    this.#takeAtOnce(one, 'suspend');
    this.#stop(one, 'SUSPENDED');
  }

  /** `start` as runs have it. One from elsewhere begins with a copy, which is a checkpoint of this job from then on. */
  startFrom(one: FakeJob, cause: string, start: Schemas['RunBody']['start']): void {
    this.#start(one, cause, start);
    if (start.mode === 'path') this.#takeAtOnce(one, IMPORTED);
  }

  #takeAtOnce(one: FakeJob, trigger: string): void {
    this.#trigger(one, trigger);
    const { body, measured } = one.checkpoints[0]!;
    complete(body, measured);
    one.job.last_checkpoint = briefOf(body);
    this.tell(one, 'CheckpointCompleted', { checkpoint: body.number, generation: body.generation, trigger, end_to_end_ms: body.end_to_end_ms, state_bytes: body.state_bytes });
  }

  /** A job that somebody has deployed. */
  add(scene: Scene): FakeJob {
    const one = this.#begin(scene, Math.max(0, ...this.jobs.map(({ job }) => job.id)) + 1);
    this.jobs.push(one);
    return one;
  }

  #stop(one: FakeJob, state: 'SUSPENDED' | 'CANCELED'): void {
    const { job } = one;
    job.desired_state = state === 'SUSPENDED' ? 'SUSPENDED' : 'CANCELLED';
    this.#standing(one, state, 'ok', '');
    if (one.checkpoints[0]?.body.state === 'IN_PROGRESS') one.checkpoints.shift();
    if (job.run) job.run.ended_at = one.runs[0]!.ended_at = iso(this.nowMs);
    this.tell(one, 'RunStateChanged', { state, generation: job.run?.generation ?? 1, reason: '', kind: '' });
  }

  #start(one: FakeJob, cause = 'start', start: Record<string, unknown> = { mode: 'resume' }): void {
    const { job } = one;
    job.desired_state = 'RUNNING';
    const number = (one.runs[0]?.number ?? 0) + 1;
    one.runs.unshift(this.#run(job.id, number, 'RUNNING', this.nowMs, cause, start));
    job.run = briefOfRun(one.runs[0]!);
    this.#standing(one, 'RUNNING', 'ok', '');
    one.nextTriggerMs = this.nowMs + 2_000;
    this.tell(one, 'RunStateChanged', { state: 'RUNNING', generation: 1, reason: '', kind: '' });
  }

  #standing({ job, runs }: FakeJob, state: Schemas['RunState'], health: Schemas['Health'], why: string): void {
    job.state = state;
    job.health = health;
    job.why = why;
    if (job.run) job.run.state = runs[0]!.state = state;
  }

  // ---- how it all began ----------------------------------------------------------------------

  #begin(scene: Scene, id: number): FakeJob {
    const ran = scene.state !== 'CREATED';
    const beganMs = this.nowMs - 3_600_000 * this.luck.between(3, 60);
    const first = ran ? [this.#run(id, 1, 'FAILED', beganMs - 7_200_000, 'deploy')] : [];
    const runs = ran ? [this.#run(id, 2 + scene.restarts, scene.state, beganMs, scene.restarts > 0 ? 'restart' : 'start'), ...first] : [];
    const job: Job = {
      id, name: scene.name, description: scene.description, labels: scene.labels, desired_state: scene.desired, state: scene.state, health: scene.health,
      why: scene.why, spec_number: 2, spec_state: 'VALID', version: 4, restarts: scene.restarts, not_before: null, run: runs[0] ? briefOfRun(runs[0]) : null,
      last_checkpoint: null, operation: null, created_at: iso(beganMs - 86_400_000), updated_at: iso(beganMs),
    };
    const one: FakeJob = {
      scene, job, runs, specs: specsOf(id, beganMs, scene), checkpoints: [], events: [], failures: [], plans: [], operations: [],
      nextTriggerMs: this.nowMs + this.luck.between(500, 6_000),
    };
    if (scene.lastCheckpointAgeS !== null) this.#history(one, this.nowMs - scene.lastCheckpointAgeS * 1000);
    this.#failuresOf(one, beganMs);
    const keep = this.nowMs;
    for (const { body } of [...one.checkpoints].reverse().slice(-20)) {
      this.nowMs = Date.parse(body.completed_at ?? body.failed_at!);
      if (body.state === 'FAILED') this.tell(one, 'CheckpointFailed', { checkpoint: body.number, reason: body.failure });
      else this.tell(one, 'CheckpointCompleted', { checkpoint: body.number, generation: 1, trigger: body.trigger, end_to_end_ms: body.end_to_end_ms, state_bytes: body.state_bytes });
    }
    this.nowMs = keep;
    return one;
  }

  #history(one: FakeJob, lastMs: number): void {
    for (let number = 1; number <= HISTORY; number += 1) {
      const completedMs = lastMs - (HISTORY - number) * INTERVAL_MS;
      const checkpoint = this.#checkpoint(one, number, completedMs, number % 25 === 0 ? 'savepoint' : 'periodic');
      const { body, measured } = checkpoint;
      body.triggered_at = iso(completedMs - measured.at(-1)!.afterMs);
      if (number % 17 === 0 && number !== HISTORY) {
        body.state = 'FAILED';
        body.acknowledged = measured.length - 1;
        body.failed_at = iso(completedMs);
        body.failure = 'subtask counts [1] declined: its storage did not answer for 30 s';
      } else complete(body, measured);
      if (number < HISTORY - 20 && !body.is_savepoint) body.discarded_at = iso(completedMs + 200 * 1000);
      one.checkpoints.unshift(checkpoint);
    }
    const newest = one.checkpoints.find(({ body }) => body.state === 'COMPLETED');
    one.job.last_checkpoint = newest ? briefOf(newest.body) : null;
  }

  #failuresOf(one: FakeJob, beganMs: number): void {
    const given = one.scene.state === 'FAILED';
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

  #run(jobId: number, number: number, state: Schemas['RunState'], beganMs: number, cause: string, start: Record<string, unknown> = { mode: 'resume' }): Schemas['RunBody'] {
    const over = state === 'FINISHED' || state === 'SUSPENDED' || state === 'CANCELED' || state === 'FAILED';
    return {
      id: this.id, job_id: jobId, number, spec_id: 10 * jobId + 2, graph_id: jobId, state, reason: state === 'FAILED' ? 'sink out: disk quota exceeded' : '', cause,
      start, generation: 1, stored_event: 1, missing_events: 0, host: 'worker-3.weir.example', pid: 40_000 + jobId,
      last_contact_at: iso(state === 'RECONCILING' ? this.nowMs - 310_000 : over ? beganMs + 900_000 : this.nowMs - 1_000), created_at: iso(beganMs), submitted_at: iso(beganMs + 200),
      running_at: iso(beganMs + 6_100), ended_at: over ? iso(beganMs + 900_000) : null, fenced_at: null,
      directory: `run-${number}`, files_cleared_at: null, stranded: null,
    };
  }
}

function complete(body: Schemas['CheckpointBody'], measured: readonly Measured[]): void {
  const tookMs = measured.at(-1)!.afterMs;
  body.state = 'COMPLETED';
  body.acknowledged = measured.length;
  body.end_to_end_ms = tookMs;
  body.latest_ack_at = body.completed_at = iso(Date.parse(body.triggered_at) + tookMs);
  body.state_bytes = measured.reduce((sum, { stateBytes }) => sum + stateBytes, 0);
  // A savepoint, and the first one, need nothing of another.
  body.checkpointed_bytes = body.is_savepoint || body.parent === null ? body.state_bytes : measured.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0);
}

function briefOf({ id, number, completed_at, is_savepoint, end_to_end_ms, state_bytes }: Schemas['CheckpointBody']): Schemas['CheckpointBrief'] {
  return { id, number, completed_at: completed_at!, is_savepoint, end_to_end_ms, state_bytes };
}

function briefOfRun({ id, number, state, reason, cause, generation, graph_id, created_at, running_at, ended_at, last_contact_at }: Schemas['RunBody']): Schemas['RunBrief'] {
  return { id, number, state, reason, cause, generation, graph_id, created_at, running_at, ended_at, last_contact_at };
}

function specsOf(jobId: number, beganMs: number, { graph }: Scene): Schemas['SpecShown'][] {
  return [2, 1].map((number) => ({
    id: 10 * jobId + number, job_id: jobId, number, artifact_id: number, state: 'VALID', problem: null, graph_id: jobId, created_by: 1,
    comment: number === 2 ? 'four slots, and checkpoints twice as often' : 'first version', created_at: iso(beganMs - (3 - number) * 86_400_000),
    body: {
      artifact: '5f2b6d0c9a'.repeat(6) + 'abcd', entry: 'job', parallelism: number === 2 ? graph.slots : Math.max(1, graph.slots / 2), spares: 0, master: 'local',
      allow_non_restored_state: false, parameters: { input_dir: '/data/in', window: '5 min' }, spark_conf: {},
      checkpointing: { interval: number === 2 ? '10s' : '20s', timeout: '10m', min_pause: number === 2 ? '5s' : '0s', tolerable_failed_checkpoints: 3, retained: 3, directory: null, staging_directory: null },
      restart: { attempts: 10, initial_s: 1, max_s: 60, multiplier: 2, well_after_s: 300 },
    },
  }));
}

/** How many subtasks a job has, for whoever counts. */
export const subtaskCount = ({ scene }: FakeJob): number => subtasksOf(scene.graph).length;
