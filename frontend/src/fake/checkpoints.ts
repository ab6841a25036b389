/** Simulates checkpoints. Computes the time at which each subtask acknowledges, and the statistics that the API returns. */
import type { Schemas } from '../api/types';
import { largest, stragglerThreshold, summarize } from '../shared/statistics';
import { type FakeGraph, subtasksOf } from './graph';
import type { FakeJob, SubtaskSnapshot } from './model';
import type { Random } from './random';

/** Return the snapshots of a checkpoint in the order of acknowledgement. Subtask 1 of the last stateful chain is often slow. */
export function simulateSnapshots(graph: FakeGraph, stateBytes: number, tempoMs: number, random: Random): SubtaskSnapshot[] {
  const stateful = new Set(graph.logical.operators.filter((one) => one.stateful).map(({ uid }) => uid));
  const heavy = graph.chains.filter(({ operators }) => operators.some((uid) => stateful.has(uid))).map(({ index }) => index);
  const share = stateBytes / Math.max(1, heavy.length * (graph.chains[0]?.parallelism ?? 1));
  const depth = new Map<number, number>();
  for (const { index } of graph.chains)
    depth.set(index, Math.max(0, ...graph.edges.filter(({ target }) => target === index).map(({ source }) => (depth.get(source) ?? 0) + 1)));
  return subtasksOf(graph)
    .map(([chain, index]) => {
      const late = heavy.at(-1) === chain && index === 1 ? random.between(1.2, 3) : 1;
      const startDelayMs = depth.get(chain)! * random.skewed(tempoMs * 0.2);
      const alignmentMs = depth.get(chain) === 0 ? 0 : random.skewed(tempoMs * 0.12) * late;
      const syncMs = random.skewed(0.4);
      const bytes = heavy.includes(chain) ? Math.round(random.skewed(share)) : random.integer(200, 900);
      // As in the runtime, the duration of the async phase includes the sync phase.
      const asyncMs = syncMs + (heavy.includes(chain) ? random.skewed(tempoMs * 0.3) * late : random.skewed(tempoMs * 0.05));
      const changed = heavy.includes(chain) ? random.between(0.02, 0.2) : 1;
      return { chain, index, startDelayMs, alignmentMs, syncMs, asyncMs, stateBytes: bytes, writtenBytes: Math.round(bytes * changed), afterMs: Math.round(startDelayMs + alignmentMs + asyncMs * 1.04) };
    })
    .sort((a, b) => a.afterMs - b.afterMs);
}

/** Return the response body of `GET /checkpoints/{id}`. */
export function checkpointDetail(body: Schemas['CheckpointRead'], graph: FakeGraph, acknowledged: readonly SubtaskSnapshot[]): Schemas['CheckpointDetailRead'] {
  const done = body.state === 'COMPLETED';
  const triggered = Date.parse(body.triggered_at);
  // Stragglers can be determined only after all subtasks have acknowledged.
  const limitMs = (done ? stragglerThreshold(acknowledged.map(({ afterMs }) => afterMs)) : null) ?? Infinity;
  const names = new Map(graph.logical.operators.map(({ uid, name }) => [uid, name]));
  const ms = (moment: string | null): number | null => (moment === null ? null : Date.parse(moment));
  return {
    ...body,
    progress: acknowledged.map(({ chain, index, afterMs }) => [chain, index, afterMs]),
    statistics: {
      id: body.number, status: body.state, is_savepoint: body.is_savepoint, trigger_timestamp: triggered, latest_ack_timestamp: ms(body.latest_ack_at),
      checkpointed_size: body.checkpointed_bytes, state_size: body.state_bytes, end_to_end_duration: body.end_to_end_ms, alignment_buffered: null, processed_data: null,
      persisted_data: 0, num_subtasks: body.subtasks, num_acknowledged_subtasks: body.acknowledged, external_path: done ? `/data/checkpoints/${body.job_id}/checkpoints/${body.number}/manifest-g${body.generation}.json` : null,
      discarded: body.discarded_at !== null, failure_timestamp: ms(body.failed_at), failure_message: body.failure,
      summary: summarizeSnapshots(done ? acknowledged : []),
      chains: graph.chains
        .map(({ index: chain, operators }) => {
          const own = acknowledged.filter((one) => one.chain === chain).sort((a, b) => a.index - b.index);
          return {
            chain, num_subtasks: own.length, summary: summarizeSnapshots(done ? own : []),
            operators: operators.map((uid) => ({ uid, name: names.get(uid) ?? uid })),
            subtasks: own.map((one) => ({
              index: one.index, status: 'COMPLETED', ack_timestamp: triggered + one.afterMs, end_to_end_duration: one.afterMs,
              // The driver reports measurements when the checkpoint is completed.
              state_size: done ? one.stateBytes : null,
              checkpoint: done ? { sync: one.syncMs, async: one.asyncMs } : null,
              alignment: done ? { buffered: null, processed: null, persisted: 0, duration: one.alignmentMs } : null,
              start_delay: done ? one.startDelayMs : null,
              unaligned_checkpoint: false, aborted: false, straggler: one.afterMs >= limitMs,
            })),
          };
        })
        .filter(({ num_subtasks }) => num_subtasks > 0),
    },
  };
}

/** Return the checkpoint that the newest run restored. Null if the run started without state. */
export function latestRestore({ runs: [run, ...before], checkpoints }: Pick<FakeJob, 'runs' | 'checkpoints'>): Schemas['RestoreRead'] | null {
  if (!run?.running_at) return null;
  const { mode, checkpoint, path } = run.start;
  const earlier = new Set(before.map(({ id }) => id));
  const found = checkpoints.find(({ body }) => body.state === 'COMPLETED' && (mode === 'resume' ? earlier.has(body.run_id) : body.number === checkpoint))?.body;
  if (!found && mode !== 'path') return null;
  return {
    run_id: run.id, run: run.number, cause: run.cause, at: run.running_at,
    checkpoint: found?.number ?? null, is_savepoint: found?.is_savepoint ?? null, path: mode === 'path' ? String(path) : null,
  };
}

function summarizeSnapshots(of: readonly SubtaskSnapshot[]): Schemas['SubtaskStatsSummaryRead'] {
  return {
    end_to_end_duration: summarize(of.map(({ afterMs }) => afterMs)),
    state_size: summarize(of.map(({ stateBytes }) => stateBytes)),
    sync: summarize(of.map(({ syncMs }) => syncMs)),
    async: summarize(of.map(({ asyncMs }) => asyncMs)),
    alignment: summarize(of.map(({ alignmentMs }) => alignmentMs)),
    start_delay: summarize(of.map(({ startDelayMs }) => startDelayMs)),
  };
}

type Phases = Pick<Schemas['CheckpointSeriesPointRead'], 'start_delay_ms' | 'alignment_ms' | 'sync_ms' | 'async_ms'>;

const longest = (of: readonly SubtaskSnapshot[]): Phases => ({
  start_delay_ms: largest(of.map(({ startDelayMs }) => startDelayMs)),
  alignment_ms: largest(of.map(({ alignmentMs }) => alignmentMs)),
  sync_ms: largest(of.map(({ syncMs }) => syncMs)),
  async_ms: largest(of.map(({ asyncMs }) => asyncMs)),
});

/** Return the response body of `GET /jobs/{id}/checkpoints/series`. */
export function checkpointSeries({ checkpoints, template }: FakeJob, last: number, wanted: number | null, withParts: boolean): Schemas['CheckpointSeriesRead'] {
  const completed = checkpoints.filter(({ body }) => body.state === 'COMPLETED').slice(0, last).reverse();
  const names = new Map(template.graph.logical.operators.map(({ uid, name }) => [uid, name]));
  const parts = template.graph.chains
    .filter(({ index }) => withParts && (wanted === null || index === wanted))
    .flatMap(({ index: chain, operators, parallelism }) =>
      (wanted === null ? [null] : Array.from({ length: parallelism }, (_, at) => at)).map((index) => {
        const each = completed.map(({ snapshots }) => longest(snapshots.filter((one) => one.chain === chain && (index === null || one.index === index))));
        return {
          chain, index, operators: operators.map((uid) => ({ uid, name: names.get(uid) ?? uid })),
          start_delay_ms: each.map((one) => one.start_delay_ms), alignment_ms: each.map((one) => one.alignment_ms),
          sync_ms: each.map((one) => one.sync_ms), async_ms: each.map((one) => one.async_ms),
        };
      }),
    );
  return {
    checkpoints: completed.map(({ body: { id, number, triggered_at, is_savepoint, end_to_end_ms, state_bytes, checkpointed_bytes }, snapshots }) => ({
      id, number, triggered_at, is_savepoint, end_to_end_ms, state_bytes, checkpointed_bytes, ...longest(snapshots),
    })),
    phases: completed.length === 0 ? [] : parts,
  };
}
