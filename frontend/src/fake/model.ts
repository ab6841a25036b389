/** The data of the fake installation. */
import type { Schemas } from '../api/types';
import type { FakeGraph } from './graph';

/** What a fake job is generated from. */
export interface JobTemplate {
  name: string;
  description: string;
  labels: Record<string, string>;
  graph: FakeGraph;
  desired: Schemas['DesiredState'];
  state: Schemas['RunState'];
  health: Schemas['Health'];
  healthReason: string;
  /** Typical, for each source subtask. */
  recordsPerS: number;
  stateBytes: number;
  /** The highest share of time that a subtask is backpressured. */
  backpressure: number;
  lagRecords: number | null;
  restarts: number;
  /** The age of the newest checkpoint at the start. Null: there is no checkpoint. */
  lastCheckpointAgeS: number | null;
  /** The typical duration of a checkpoint. Default: `TEMPO_MS`. */
  tempoMs?: number;
  /** Default: `INTERVAL_MS`. */
  intervalMs?: number;
}

/** One subtask's part of a checkpoint. */
export interface SubtaskSnapshot {
  chain: number;
  index: number;
  afterMs: number;
  startDelayMs: number;
  alignmentMs: number;
  syncMs: number;
  asyncMs: number;
  stateBytes: number;
  /** The part that this checkpoint wrote. The rest is referenced from earlier ones. */
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
  nextTriggerMs: number;
}

export interface FakeCheckpoint {
  body: Schemas['CheckpointRead'];
  snapshots: SubtaskSnapshot[];
}

/** Why the fake API refuses a request. */
export class FakeProblem {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly nextStep = '',
  ) {}
}

/** A timestamp as the API writes it. */
export const iso = (ms: number): string => new Date(ms).toISOString();
