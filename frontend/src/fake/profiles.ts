/** Simulated profiles of slots. */
import type { Schemas } from '../api/types';
import type { Installation } from './installation';
import { FakeProblem, iso, type FakeJob } from './model';

const SECONDS_DEFAULT = 10;
const INTERVAL_MS = 10;

/** Begin a profile. The profile is complete after its duration in simulated time. */
export function takeProfile(installation: Installation, one: FakeJob, { slot, seconds = SECONDS_DEFAULT }: { slot: number; seconds?: number }): Schemas['OperationRead'] | FakeProblem {
  if (one.job.state !== 'RUNNING') return new FakeProblem(409, 'not-running', `Job '${one.job.name}' is not running.`, 'Start the job first.');
  const operation: Schemas['OperationRead'] = {
    id: installation.id, job_id: one.job.id, kind: 'profile', state: 'RUNNING', request: { slot, seconds }, result: null, problem: null,
    steps: [{ at: iso(installation.nowMs), text: `sent the command to the driver of run ${one.job.run?.number ?? 1}` }], created_by: 1,
    created_at: iso(installation.nowMs), deadline_at: iso(installation.nowMs + 120_000), ended_at: null,
  };
  one.operations.unshift(operation);
  const isBusy = one.operations.some(({ id, kind, ended_at, request }) => id !== operation.id && kind === 'profile' && ended_at === null && request.slot === slot);
  if (isBusy) end(installation, one, operation, 'FAILED', `Slot ${slot} is already taking a profile. Retry when that profile has ended.`);
  else if (slot >= one.template.graph.slots) end(installation, one, operation, 'FAILED', `The job has no slot ${slot}: its slots are 0 to ${one.template.graph.slots - 1}.`);
  return operation;
}

/** End the profiles whose duration has passed, and the profiles of a job that has stopped. */
export function advanceProfiles(installation: Installation, one: FakeJob): void {
  for (const operation of one.operations.filter(({ kind, ended_at }) => kind === 'profile' && ended_at === null)) {
    if (one.job.state !== 'RUNNING') end(installation, one, operation, 'FAILED', 'The job is stopping.');
    else if (installation.nowMs >= Date.parse(operation.created_at) + 1_000 * Number(operation.request.seconds)) end(installation, one, operation, 'SUCCEEDED', null);
  }
}

function end(installation: Installation, one: FakeJob, operation: Schemas['OperationRead'], state: 'SUCCEEDED' | 'FAILED', problem: string | null): void {
  const samples = (1_000 * Number(operation.request.seconds)) / INTERVAL_MS;
  Object.assign(operation, { state, problem, ended_at: iso(installation.nowMs), result: state === 'SUCCEEDED' ? { samples, dropped_samples: 0 } : null });
  installation.emit(one, 'OperationEnded', { operation: operation.id, operation_kind: 'profile', state, problem }, false);
}

const FRAMES: [name: string, file: string, line: number][] = [
  ['SlotProcess.run', 'weir/subtask/process.py', 217], ['SlotProcess._turns', 'weir/subtask/process.py', 251], ['SlotRuntime.turn', 'weir/subtask/slot.py', 206],
  ['SubtaskRuntime.step', 'weir/subtask/subtask.py', 118], ['MapOperator.process', 'weir/operators/row_operators.py', 41], ['parse_delay', 'flights.py', 12],
  ['parse_delay', 'flights.py', 14], ['normalize', 'flights.py', 21], ['loads', 'json/__init__.py', 346], ['JSONDecoder.decode', 'json/decoder.py', 337],
  ['AggregateOperator.process', 'weir/operators/aggregate.py', 37], ['ColumnarBackend.update', 'weir/state/columnar_backend.py', 88], ['EpollSelector.select', 'selectors.py', 468],
  ['Condition.wait', 'threading.py', 327], ['SerialExecutor._run', 'weir/subtask/background.py', 66], ['StateFiles.flush', 'weir/storage/state_files.py', 141],
];
const STEP = [0, 1, 2, 3];

/** Return the profile of a job that spends most of its time in the user function `parse_delay`. All profiles of a job are equal. */
export function profileOf({ job: { id } }: FakeJob): Schemas['ProfileRead'] {
  const stack = (frames: number[], samples: number) => ({ frames, samples });
  return {
    duration_ms: 10_003, interval_ms: INTERVAL_MS, samples: 1_000, dropped_samples: id === 2 ? 7 : 0,
    frames: FRAMES.map(([name, file, line]) => ({ function: name, file, line })),
    threads: [
      {
        name: 'weir-loop', cpu_ms: 9_240,
        stacks: [stack([...STEP, 4, 5, 8, 9], 420), stack([...STEP, 4, 6, 7], 190), stack([...STEP, 4, 5], 130), stack([...STEP, 10, 11], 150), stack([0, 12], 70), stack([...STEP, 4], 40)],
      },
      { name: 'weir-snapshots', cpu_ms: 210, stacks: [stack([14, 13], 960), stack([14, 15], 40)] },
      { name: 'weir-control', cpu_ms: 12, stacks: [stack([12], 1_000)] },
    ],
  };
}
