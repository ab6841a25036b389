/** Artifacts, new jobs and new versions of their specs in the fake installation. In the fake installation, a file that contains `raise` does not compile, and a file that contains `rekeyed` is incompatible with existing state. */
import type { Schemas } from '../api/types';
import { FakeProblem, iso, type FakeJob } from './model';
import { JOB_TEMPLATES } from './jobTemplates';
import { DEFAULT_TIMEOUTS, type JobSimulator } from './jobSimulator';

const COMPILING_MS = 1_500;
const COMPILE_ERROR = "SchemaError: no column 'speed'. Columns: time, place (job.py, line 12)";
const files = new WeakMap<JobSimulator, Map<string, { shown: Schemas['ArtifactRead']; broken: boolean; rekeyed: boolean }>>();

function filesOf(simulator: JobSimulator) {
  let found = files.get(simulator);
  if (!found) files.set(simulator, (found = new Map()));
  return found;
}

export async function upload(simulator: JobSimulator, name: string, request: Request): Promise<Schemas['ArtifactRead']> {
  const text = await request.text();
  const digest = Array.from(text.padEnd(8, '0').slice(-32), (char) => (char.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')).join('').padEnd(64, '0').slice(0, 64);
  const kind = name.split('.').at(-1) as Schemas['ArtifactKind'];
  const shown: Schemas['ArtifactRead'] = {
    id: simulator.id, digest, kind, name, size: text.length, created_by: 1, created_at: iso(simulator.nowMs), uploaded_at: iso(simulator.nowMs),
  };
  filesOf(simulator).set(digest, { shown, broken: text.includes('raise'), rekeyed: text.includes('rekeyed') });
  return shown;
}

export function deploy(simulator: JobSimulator, draft: Schemas['JobCreate']): Schemas['JobRead'] | FakeProblem {
  if (simulator.jobs.some(({ job }) => job.name === draft.name)) return new FakeProblem(409, 'name-taken', `A job named '${draft.name}' already exists.`, 'Add a version to that job, or choose another name.');
  const one = simulator.add({
    ...JOB_TEMPLATES[2]!, name: draft.name, description: draft.description ?? '', desired: 'SUSPENDED', state: 'CREATED', health: 'degraded', healthReason: '', lastCheckpointAgeS: null, restarts: 0, lagRecords: null,
  });
  one.specs = [];
  Object.assign(one.job, { spec_number: 1, spec_state: 'COMPILING', version: 1, created_at: iso(simulator.nowMs), updated_at: iso(simulator.nowMs) });
  if (draft.start !== false) one.job.desired_state = 'RUNNING';
  addVersion(simulator, one, draft);
  return one.job;
}

export function addVersion(simulator: JobSimulator, one: FakeJob, { spec, comment }: Schemas['SpecCreate']): Schemas['SpecRead'] {
  const number = Math.max(0, ...one.specs.map((known) => known.number)) + 1;
  const shown: Schemas['SpecRead'] = {
    id: simulator.id, job_id: one.job.id, number, artifact_id: 1, state: 'COMPILING', problem: null, graph_id: null, created_by: 1, comment: comment ?? '', created_at: iso(simulator.nowMs),
    body: {
      entry: 'job', network_memory: '256MiB', buffer_timeout: 'adaptive', recovery: 'regional', parallelism: 2, spares: 0, master: 'local', parameters: {}, spark_conf: {}, allow_non_restored_state: false, ...spec,
      checkpointing: { interval: '10s', timeout: '10m', min_pause: '0s', tolerable_failed_checkpoints: 3, retained: 3, directory: null, staging_directory: null, ...spec.checkpointing },
      timeouts: { ...DEFAULT_TIMEOUTS, ...spec.timeouts },
    },
  };
  one.specs.unshift(shown);
  if (number > 1) one.job.version += 1;
  simulator.emit(one, 'SpecAdded', { spec: number, by: 'admin' }, false);
  return shown;
}

const MISMATCH =
  "aggregate 'counts' is keyed by (account), but its state in the checkpoint is keyed by (user). Restore the old key and aggregates, or give aggregate 'counts' a new uid and pass --allow-non-restored-state. " +
  'With the new uid, the operator starts without state: its results contain only records after the checkpoint';

/** Return the reason why a version cannot restore the job's state, or null if the version can restore the state. */
export function stateMismatch(simulator: JobSimulator, { body }: Schemas['SpecRead']): string | null {
  return filesOf(simulator).get(body.artifact as string)?.rekeyed ? MISMATCH : null;
}

/** Complete compilations whose simulated duration has passed. */
export function advanceCompilation(simulator: JobSimulator, one: FakeJob): void {
  for (const spec of one.specs) {
    if (spec.state !== 'COMPILING' || simulator.nowMs - Date.parse(spec.created_at) < COMPILING_MS) continue;
    const broken = filesOf(simulator).get(spec.body.artifact as string)?.broken ?? false;
    Object.assign(spec, broken ? { state: 'INVALID', problem: COMPILE_ERROR } : { state: 'VALID', graph_id: one.job.id });
    if (one.job.spec_number === spec.number) {
      one.job.spec_state = spec.state;
      one.job.health = broken ? 'needs_attention' : 'healthy';
      one.job.health_reason = broken ? `The code does not compile: ${COMPILE_ERROR}` : '';
      one.job.health_reasons = broken ? [{ code: 'invalid-code', text: one.job.health_reason }] : [];
    }
    simulator.emit(one, 'SpecCompiled', { spec: spec.number, state: spec.state, problem: spec.problem }, false);
  }
}
