/** Files of user code, new jobs and new versions in the invented installation. A file with `raise` in it does not compile; the state of others does not fit one with `rekeyed`. */
import type { Schemas } from '../api/types';
import { iso } from './moments';
import { Refusal } from './refusal';
import { SCENES } from './scenes';
import type { FakeJob, World } from './world';

const COMPILING_MS = 1_500;
const REFUSED = 'ValueError: the column speed is not there; there are: time, place (job.py, line 12)';
const files = new WeakMap<World, Map<string, { shown: Schemas['ArtifactShown']; broken: boolean; rekeyed: boolean }>>();

function filesOf(world: World) {
  let found = files.get(world);
  if (!found) files.set(world, (found = new Map()));
  return found;
}

export async function upload(world: World, name: string, request: Request): Promise<Schemas['ArtifactShown']> {
  const text = await request.text();
  const digest = Array.from(text.padEnd(8, '0').slice(-32), (char) => (char.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')).join('').padEnd(64, '0').slice(0, 64);
  const kind = name.split('.').at(-1) as Schemas['ArtifactKind'];
  const shown: Schemas['ArtifactShown'] = {
    id: world.id, digest, kind, name, size: text.length, created_by: 1, created_at: iso(world.nowMs), uploaded_at: iso(world.nowMs),
  };
  filesOf(world).set(digest, { shown, broken: text.includes('raise'), rekeyed: text.includes('rekeyed') });
  return shown;
}

export function deploy(world: World, draft: Schemas['JobDraft']): Schemas['JobShown'] | Refusal {
  if (world.jobs.some(({ job }) => job.name === draft.name)) return new Refusal(409, 'name-taken', `there is a job '${draft.name}' already`, 'give it a new version of its spec, or choose another name');
  const one = world.add({
    ...SCENES[2]!, name: draft.name, description: draft.description ?? '', desired: 'SUSPENDED', state: 'CREATED', health: 'working', why: '', lastCheckpointAgeS: null, restarts: 0, lagRecords: null,
  });
  one.specs = [];
  Object.assign(one.job, { spec_number: 1, spec_state: 'COMPILING', version: 1, created_at: iso(world.nowMs), updated_at: iso(world.nowMs) });
  if (draft.start !== false) one.job.desired_state = 'RUNNING';
  addVersion(world, one, draft);
  return one.job;
}

export function addVersion(world: World, one: FakeJob, { spec, comment }: Schemas['SpecDraft']): Schemas['SpecShown'] {
  const number = Math.max(0, ...one.specs.map((known) => known.number)) + 1;
  const shown: Schemas['SpecShown'] = {
    id: world.id, job_id: one.job.id, number, artifact_id: 1, state: 'COMPILING', problem: null, graph_id: null, created_by: 1, comment: comment ?? '', created_at: iso(world.nowMs),
    body: {
      entry: 'job', parallelism: 2, spares: 0, master: 'local', parameters: {}, spark_conf: {}, allow_non_restored_state: false, ...spec,
      checkpointing: { interval: '10s', timeout: '10m', min_pause: '0s', tolerable_failed_checkpoints: 3, retained: 3, directory: null, staging_directory: null, ...spec.checkpointing },
    },
  };
  one.specs.unshift(shown);
  if (number > 1) one.job.version += 1;
  world.tell(one, 'SpecAdded', { spec: number, by: 'admin' }, false);
  return shown;
}

/** Why a version cannot go on with the state that is there; null: it can. */
export function misfitOf(world: World, { body }: Schemas['SpecShown']): string | null {
  return filesOf(world).get(body.artifact as string)?.rekeyed ? "aggregate 'counts' is keyed by account, its state by user: give it a new uid" : null;
}

/** A worker has compiled what waits for it. */
export function advanceCompiling(world: World, one: FakeJob): void {
  for (const spec of one.specs) {
    if (spec.state !== 'COMPILING' || world.nowMs - Date.parse(spec.created_at) < COMPILING_MS) continue;
    const broken = filesOf(world).get(spec.body.artifact as string)?.broken ?? false;
    Object.assign(spec, broken ? { state: 'INVALID', problem: REFUSED } : { state: 'VALID', graph_id: one.job.id });
    if (one.job.spec_number === spec.number) {
      one.job.spec_state = spec.state;
      one.job.health = broken ? 'needs a person' : 'ok';
      one.job.why = broken ? `version ${spec.number} does not compile: ${REFUSED}` : '';
    }
    world.tell(one, 'SpecCompiled', { spec: spec.number, state: spec.state, problem: spec.problem }, false);
  }
}
