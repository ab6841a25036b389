/**
 * What happened in a stored checkpoint, as facts in their order, to be played again. Pure.
 *
 * Subtasks measure durations by clocks of their own: how long they aligned, snapshotted and wrote. When that was follows from the
 * order in which barriers travel: a subtask lets the barrier pass when the last of those who send to it has, and not sooner than its own
 * start delay and alignment say. So everything is shown at the earliest moment that agrees with all that was measured.
 */
import type { Schemas } from '../../../api/types';
import { eachNeighbour, subtaskOf, type Topology } from './topology';
import { ACKNOWLEDGED, ALIGNING, beginWave, nextWave, SNAPSHOTTED, type Fact, type Wave } from './wavefront';

type Detail = Pick<Schemas['CheckpointDetailBody'], 'progress' | 'statistics' | 'end_to_end_ms' | 'triggered_at' | 'failed_at' | 'state'>;

export interface Script {
  topology: Topology;
  /** In the order of their moments. */
  facts: readonly Fact[];
  durationMs: number;
  exact: boolean;
  end: 'completed' | 'failed';
}

interface Measured {
  startDelayMs: number;
  alignmentMs: number;
  syncMs: number;
  asyncMs: number;
  acknowledgedMs: number | null;
}

/** Null: nobody acknowledged anything, there is nothing to play. */
export function scriptOf(detail: Detail, topology: Topology): Script | null {
  const measured = measuredOf(detail, topology);
  const exact = detail.state === 'COMPLETED' && topology.count > 0 && measured.size === topology.count;
  const facts = exact ? passage(measured, topology) : acknowledgements(detail, topology);
  if (facts.length === 0) return null;
  facts.sort((a, b) => a.atMs - b.atMs || a.step - b.step);
  const failedMs = detail.failed_at === null ? 0 : Date.parse(detail.failed_at) - Date.parse(detail.triggered_at);
  const durationMs = Math.max(1, detail.end_to_end_ms ?? 0, facts.at(-1)!.atMs, failedMs);
  return { topology, facts, durationMs, exact, end: detail.state === 'COMPLETED' ? 'completed' : 'failed' };
}

function measuredOf({ statistics }: Detail, topology: Topology): Map<number, Measured> {
  const found = new Map<number, Measured>();
  for (const { chain, subtasks } of statistics.chains) {
    for (const { index, start_delay, alignment, checkpoint, end_to_end_duration } of subtasks) {
      const subtask = subtaskOf(topology, chain, index);
      if (subtask === null || !checkpoint || !alignment) continue;
      found.set(subtask, {
        startDelayMs: start_delay ?? 0, alignmentMs: alignment.duration, syncMs: checkpoint.sync, asyncMs: checkpoint.async,
        acknowledgedMs: end_to_end_duration,
      });
    }
  }
  return found;
}

function acknowledgements({ progress }: Detail, topology: Topology): Fact[] {
  return progress.flatMap(([chain, index, atMs]) => {
    const subtask = subtaskOf(topology, chain!, index!);
    return subtask === null ? [] : [{ subtask, step: ACKNOWLEDGED, atMs: atMs! }];
  });
}

function passage(measured: ReadonlyMap<number, Measured>, topology: Topology): Fact[] {
  const passedMs = new Float64Array(topology.count);
  const facts: Fact[] = [];
  // Numbers of subtasks are in topological order: those who send come before those who are sent to.
  for (let subtask = 0; subtask < topology.count; subtask += 1) {
    const { startDelayMs, alignmentMs, syncMs, asyncMs, acknowledgedMs } = measured.get(subtask)!;
    let firstMs = Infinity;
    let lastMs = 0;
    eachNeighbour(topology, subtask, 'inputs', (other) => {
      firstMs = Math.min(firstMs, passedMs[other]!);
      lastMs = Math.max(lastMs, passedMs[other]!);
    });
    const source = firstMs === Infinity;
    const limitMs = acknowledgedMs ?? Infinity;
    const beginsMs = Math.min(limitMs, Math.max(startDelayMs, source ? 0 : firstMs));
    const alignedMs = Math.min(limitMs, Math.max(beginsMs + alignmentMs, lastMs));
    passedMs[subtask] = Math.min(limitMs, alignedMs + syncMs);
    if (!source) facts.push({ subtask, step: ALIGNING, atMs: beginsMs });
    facts.push({ subtask, step: SNAPSHOTTED, atMs: passedMs[subtask]! });
    facts.push({ subtask, step: ACKNOWLEDGED, atMs: acknowledgedMs ?? passedMs[subtask]! + asyncMs });
  }
  return facts;
}

/** The checkpoint at that moment. `before`: what was shown last of this script; from there on if it is not later, else from the beginning. */
export function waveAt({ topology, facts, exact, durationMs, end }: Script, atMs: number, before: Wave | null): Wave {
  const goesOn = before !== null && before.topology === topology && before.end === null && before.atMs <= atMs;
  const wave = goesOn ? before : beginWave(topology, { exact });
  const after = nextWave(wave, { type: 'facts', facts: facts.slice(goesOn ? firstAfter(facts, before.atMs) : 0, firstAfter(facts, atMs)), atMs });
  return atMs >= durationMs ? nextWave(after, { type: 'end', how: end, atMs: durationMs }) : after;
}

/** Position of the first fact that is later. */
function firstAfter(facts: readonly Fact[], atMs: number): number {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (facts[middle]!.atMs <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
