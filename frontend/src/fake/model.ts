/** The data of the fake installation. */
import type { Schemas } from '../api/types';
import type { FakeGraph } from './graph';

/** The template from which a fake job is generated. */
export interface JobTemplate {
  name: string;
  description: string;
  labels: Record<string, string>;
  graph: FakeGraph;
  desired: Schemas['DesiredState'];
  state: Schemas['RunState'];
  health: Schemas['Health'];
  healthReason: string;
  /** The typical rate of each source subtask. */
  recordsPerS: number;
  stateBytes: number;
  /** The typical share of time, from 0 to 1, for which the most backpressured subtask is backpressured. */
  backpressure: number;
  lagRecords: number | null;
  restarts: number;
  /** The age of the newest checkpoint when the simulation starts. Null if there is no checkpoint. */
  lastCheckpointAgeS: number | null;
  /** The typical duration of a checkpoint. Default: `TEMPO_MS`. */
  tempoMs?: number;
  /** Default: `INTERVAL_MS`. */
  intervalMs?: number;
}

/** Return the pin of a user. */
export const pinOf = (name: string, reason: string, nowMs: number): Schemas['PinRead'] => ({ holder: 'user', user_id: 1, plan_id: null, name, reason, since: iso(nowMs) });

/** The snapshot of one subtask in a checkpoint. */
export interface SubtaskSnapshot {
  chain: number;
  index: number;
  afterMs: number;
  startDelayMs: number;
  alignmentMs: number;
  syncMs: number;
  asyncMs: number;
  stateBytes: number;
  /** The number of bytes that this checkpoint wrote. Files of earlier checkpoints do not count. */
  writtenBytes: number;
}

export interface FakeJob {
  template: JobTemplate;
  job: Schemas['JobRead'];
  runs: Schemas['RunRead'][];
  specs: Schemas['SpecRead'][];
  checkpoints: FakeCheckpoint[];
  events: Schemas['EventRead'][];
  failures: Schemas['FailureRead'][];
  plans: Schemas['PlanRead'][];
  operations: Schemas['OperationRead'][];
  /** The logs of runs by run id. */
  logs: Map<number, string>;
  nextTriggerMs: number;
}

export interface FakeCheckpoint {
  body: Schemas['CheckpointRead'];
  snapshots: SubtaskSnapshot[];
}

/** A refused request, with the reason. */
export class FakeProblem {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly nextStep = '',
  ) {}
}

/** Return a timestamp in the API's format. */
export const iso = (ms: number): string => new Date(ms).toISOString();
