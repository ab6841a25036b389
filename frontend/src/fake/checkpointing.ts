/** One checkpoint from its trigger to its end: which subtask acknowledges when, and what it says it measured. */
import type { Schemas } from '../api/types';
import { stragglerLimit, summaryOf } from '../shared/statistics';
import { subtasksOf, type FakeGraph } from './graph';
import type { Luck } from './luck';
import type { FakeJob } from './world';

export interface Measured {
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

/** Barriers travel from chain to chain; subtask 1 of the last stateful chain is slow more often than others. */
export function measuredBy(graph: FakeGraph, stateBytes: number, tempoMs: number, luck: Luck): Measured[] {
  const stateful = new Set(graph.logical.operators.filter((one) => one.stateful).map(({ uid }) => uid));
  const heavy = graph.chains.filter(({ operators }) => operators.some((uid) => stateful.has(uid))).map(({ index }) => index);
  const share = stateBytes / Math.max(1, heavy.length * (graph.chains[0]?.parallelism ?? 1));
  const depth = new Map<number, number>();
  for (const { index } of graph.chains)
    depth.set(index, Math.max(0, ...graph.edges.filter(({ target }) => target === index).map(({ source }) => (depth.get(source) ?? 0) + 1)));
  return subtasksOf(graph)
    .map(([chain, index]) => {
      const late = heavy.at(-1) === chain && index === 1 ? luck.between(1.2, 3) : 1;
      const startDelayMs = depth.get(chain)! * luck.skewed(tempoMs * 0.2);
      const alignmentMs = depth.get(chain) === 0 ? 0 : luck.skewed(tempoMs * 0.12) * late;
      const syncMs = luck.skewed(0.4);
      const bytes = heavy.includes(chain) ? Math.round(luck.skewed(share)) : luck.whole(200, 900);
      // From the beginning of the sync phase on.
      const asyncMs = syncMs + (heavy.includes(chain) ? luck.skewed(tempoMs * 0.3) * late : luck.skewed(tempoMs * 0.05));
      const changed = heavy.includes(chain) ? luck.between(0.02, 0.2) : 1;
      return { chain, index, startDelayMs, alignmentMs, syncMs, asyncMs, stateBytes: bytes, writtenBytes: Math.round(bytes * changed), afterMs: Math.round(startDelayMs + alignmentMs + asyncMs * 1.04) };
    })
    .sort((a, b) => a.afterMs - b.afterMs);
}

/** `GET /checkpoints/{id}` of a checkpoint, as far as it has got. */
export function detailOf(body: Schemas['CheckpointBody'], graph: FakeGraph, acknowledged: readonly Measured[]): Schemas['CheckpointDetailBody'] {
  const done = body.state === 'COMPLETED';
  const triggered = Date.parse(body.triggered_at);
  // While some are missing nobody who is there is to blame.
  const limitMs = (done ? stragglerLimit(acknowledged.map(({ afterMs }) => afterMs)) : null) ?? Infinity;
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
      summary: summary(done ? acknowledged : []),
      chains: graph.chains
        .map(({ index: chain, operators }) => {
          const own = acknowledged.filter((one) => one.chain === chain).sort((a, b) => a.index - b.index);
          return {
            chain, num_subtasks: own.length, summary: summary(done ? own : []),
            operators: operators.map((uid) => ({ uid, name: names.get(uid) ?? uid })),
            subtasks: own.map((one) => ({
              index: one.index, status: 'COMPLETED', ack_timestamp: triggered + one.afterMs, end_to_end_duration: one.afterMs,
              // What subtasks measured is told when the checkpoint is completed.
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

/** What the newest run went on from. Null: it began without state. */
export function latestRestore({ runs: [run, ...before], checkpoints }: Pick<FakeJob, 'runs' | 'checkpoints'>): Schemas['RestoreBody'] | null {
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

function summary(of: readonly Measured[]): Schemas['MeasuredBody'] {
  return {
    end_to_end_duration: summaryOf(of.map(({ afterMs }) => afterMs)),
    state_size: summaryOf(of.map(({ stateBytes }) => stateBytes)),
    sync: summaryOf(of.map(({ syncMs }) => syncMs)),
    async: summaryOf(of.map(({ asyncMs }) => asyncMs)),
    alignment: summaryOf(of.map(({ alignmentMs }) => alignmentMs)),
    start_delay: summaryOf(of.map(({ startDelayMs }) => startDelayMs)),
  };
}
