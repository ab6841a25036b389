/** `GET /jobs/{id}/checkpoints/series`: how the last checkpoints went, one after the other. */
import type { Schemas } from '../api/types';
import { largest } from '../shared/statistics';
import type { Measured } from './checkpointing';
import type { FakeJob } from './world';

type Phases = Pick<Schemas['CheckpointPointBody'], 'start_delay_ms' | 'alignment_ms' | 'sync_ms' | 'async_ms'>;

const longest = (of: readonly Measured[]): Phases => ({
  start_delay_ms: largest(of.map(({ startDelayMs }) => startDelayMs)),
  alignment_ms: largest(of.map(({ alignmentMs }) => alignmentMs)),
  sync_ms: largest(of.map(({ syncMs }) => syncMs)),
  async_ms: largest(of.map(({ asyncMs }) => asyncMs)),
});

export function checkpointSeries({ checkpoints, scene }: FakeJob, last: number, wanted: number | null, withParts: boolean): Schemas['CheckpointSeriesBody'] {
  const completed = checkpoints.filter(({ body }) => body.state === 'COMPLETED').slice(0, last).reverse();
  const names = new Map(scene.graph.logical.operators.map(({ uid, name }) => [uid, name]));
  const parts = scene.graph.chains
    .filter(({ index }) => withParts && (wanted === null || index === wanted))
    .flatMap(({ index: chain, operators, parallelism }) =>
      (wanted === null ? [null] : Array.from({ length: parallelism }, (_, at) => at)).map((index) => {
        const each = completed.map(({ measured }) => longest(measured.filter((one) => one.chain === chain && (index === null || one.index === index))));
        return {
          chain, index, operators: operators.map((uid) => ({ uid, name: names.get(uid) ?? uid })),
          start_delay_ms: each.map((one) => one.start_delay_ms), alignment_ms: each.map((one) => one.alignment_ms),
          sync_ms: each.map((one) => one.sync_ms), async_ms: each.map((one) => one.async_ms),
        };
      }),
    );
  return {
    checkpoints: completed.map(({ body: { id, number, triggered_at, is_savepoint, end_to_end_ms, state_bytes, checkpointed_bytes }, measured }) => ({
      id, number, triggered_at, is_savepoint, end_to_end_ms, state_bytes, checkpointed_bytes, ...longest(measured),
    })),
    parts: completed.length === 0 ? [] : parts,
  };
}
