/**
 * Converts a stored checkpoint to a recording, which lists all changes of wavefront steps in chronological order. Pure.
 *
 * A subtask measures its start delay, alignment, sync phase and async phase with its own clock. The times of the wavefront steps are derived from the
 * measurements of all subtasks and from the order in which barriers travel. A subtask forwards the barrier only after all its upstream subtasks have
 * forwarded the barrier. A subtask also forwards the barrier only after its start delay and its alignment. Each step gets the earliest time that is
 * consistent with all measurements.
 */
import type { Schemas } from '../../../../api/types';
import { forEachNeighbour, subtaskNumber, type Topology } from '../wavefront/topology';
import { ACKNOWLEDGED, ALIGNING, initialWavefront, reduceWavefront, SNAPSHOTTED, type StepChange, type Wavefront } from '../wavefront/wavefront';

type Detail = Pick<Schemas['CheckpointDetailRead'], 'progress' | 'statistics' | 'end_to_end_ms' | 'triggered_at' | 'failed_at' | 'state'>;

export interface Recording {
  topology: Topology;
  /** All changes of steps, in chronological order. */
  facts: readonly StepChange[];
  durationMs: number;
  exact: boolean;
  end: 'completed' | 'failed';
}

interface Measurement {
  startDelayMs: number;
  alignmentMs: number;
  syncMs: number;
  asyncMs: number;
  acknowledgedMs: number | null;
}

/** Return null if no subtask has acknowledged the checkpoint. */
export function buildRecording(detail: Detail, topology: Topology): Recording | null {
  const measured = measurements(detail, topology);
  const exact = detail.state === 'COMPLETED' && topology.count > 0 && measured.size === topology.count;
  const facts = exact ? measuredFacts(measured, topology) : acknowledgements(detail, topology);
  if (facts.length === 0) return null;
  facts.sort((a, b) => a.atMs - b.atMs || a.step - b.step);
  const failedMs = detail.failed_at === null ? 0 : Date.parse(detail.failed_at) - Date.parse(detail.triggered_at);
  const durationMs = Math.max(1, detail.end_to_end_ms ?? 0, facts.at(-1)!.atMs, failedMs);
  return { topology, facts, durationMs, exact, end: detail.state === 'COMPLETED' ? 'completed' : 'failed' };
}

function measurements({ statistics }: Detail, topology: Topology): Map<number, Measurement> {
  const result = new Map<number, Measurement>();
  for (const { chain, subtasks } of statistics.chains) {
    for (const { index, start_delay, alignment, checkpoint, end_to_end_duration } of subtasks) {
      const subtask = subtaskNumber(topology, chain, index);
      if (subtask === null || !checkpoint || !alignment) continue;
      result.set(subtask, {
        startDelayMs: start_delay ?? 0, alignmentMs: alignment.duration, syncMs: checkpoint.sync, asyncMs: checkpoint.async,
        acknowledgedMs: end_to_end_duration,
      });
    }
  }
  return result;
}

function acknowledgements({ progress }: Detail, topology: Topology): StepChange[] {
  return progress.flatMap(([chain, index, atMs]) => {
    const subtask = subtaskNumber(topology, chain!, index!);
    return subtask === null ? [] : [{ subtask, step: ACKNOWLEDGED, atMs: atMs! }];
  });
}

function measuredFacts(measured: ReadonlyMap<number, Measurement>, topology: Topology): StepChange[] {
  const passedMs = new Float64Array(topology.count);
  const facts: StepChange[] = [];
  // Subtask numbers are in topological order, so upstream subtasks come first.
  for (let subtask = 0; subtask < topology.count; subtask += 1) {
    const { startDelayMs, alignmentMs, syncMs, asyncMs, acknowledgedMs } = measured.get(subtask)!;
    let firstMs = Infinity;
    let lastMs = 0;
    forEachNeighbour(topology, subtask, 'inputs', (other) => {
      firstMs = Math.min(firstMs, passedMs[other]!);
      lastMs = Math.max(lastMs, passedMs[other]!);
    });
    const source = firstMs === Infinity;
    const limitMs = acknowledgedMs ?? Infinity;
    const startMs = Math.min(limitMs, Math.max(startDelayMs, source ? 0 : firstMs));
    const alignedMs = Math.min(limitMs, Math.max(startMs + alignmentMs, lastMs));
    passedMs[subtask] = Math.min(limitMs, alignedMs + syncMs);
    if (!source) facts.push({ subtask, step: ALIGNING, atMs: startMs });
    facts.push({ subtask, step: SNAPSHOTTED, atMs: passedMs[subtask]! });
    facts.push({ subtask, step: ACKNOWLEDGED, atMs: acknowledgedMs ?? passedMs[subtask]! + asyncMs });
  }
  return facts;
}

/**
 * Return the wavefront of a recording at a given time. `previous`: the wavefront of this recording that was shown last. If `previous` is earlier than the
 * requested time, the result is computed from `previous`.
 */
export function wavefrontAt({ topology, facts, exact, durationMs, end }: Recording, atMs: number, previous: Wavefront | null): Wavefront {
  const continues = previous !== null && previous.topology === topology && previous.end === null && previous.atMs <= atMs;
  const wave = continues ? previous : initialWavefront(topology, { exact });
  const after = reduceWavefront(wave, { type: 'facts', facts: facts.slice(continues ? firstAfter(facts, previous.atMs) : 0, firstAfter(facts, atMs)), atMs });
  return atMs >= durationMs ? reduceWavefront(after, { type: 'end', outcome: end, atMs: durationMs }) : after;
}

/** Return the index of the first change that is later than `atMs`. */
function firstAfter(facts: readonly StepChange[], atMs: number): number {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (facts[middle]!.atMs <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
