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
  why: string;
  /** Typical, per second, of each source subtask. */
  recordsPerS: number;
  stateBytes: number;
  /** How much of its time the subtask that is worst off waits for others. */
  backpressure: number;
  lagRecords: number | null;
  restarts: number;
  /** How old the last checkpoint was when the page was opened; null: it has none. */
  lastCheckpointAgeS: number | null;
  /** How fast its checkpoints go (`TEMPO_MS`), and how often they come (`INTERVAL_MS`), where that is not as with the others. */
  tempoMs?: number;
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
  /** Of these it wrote itself: the rest is as it was in the checkpoint before. */
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
