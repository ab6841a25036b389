/** Current metrics of chains and subtasks, aggregated for the graph. Pure. */
import type { Schemas } from '../../../../api/types';
import { sum } from '../../../../shared/statistics';
import type { Chain, Edge, PhysicalGraph } from '../../physicalGraph';

export type Level = Schemas['BackpressureLevel'];
export type Bottleneck = Schemas['BottleneckRead'];
type Series = Schemas['SubtaskSeriesRead'];

export interface SubtaskMetrics {
  index: number;
  level: Level | null;
  /** Shares of time from 0 to 1. Null if not measured. */
  busy: number | null;
  idle: number | null;
  backpressured: number | null;
  queued: number | null;
  /** The share of time in which other subtasks keep the subtask from running. The level is that of the pressure. */
  pressure: number | null;
  recordsInPerS: number | null;
  recordsOutPerS: number | null;
  stateBytes: number | null;
}
export interface ChainMetrics {
  /** The highest backpressure level of the chain's subtasks. */
  level: Level | null;
  /** The subtask with the highest pressure. Null if not measured. */
  worst: SubtaskMetrics | null;
  /** The subtask with the largest share of busy time. Null if not measured. */
  busiest: SubtaskMetrics | null;
  /** The bottleneck of the job if it is in this chain, else null. */
  bottleneck: Bottleneck | null;
  recordsInPerS: number | null;
  recordsOutPerS: number | null;
  stateBytes: number | null;
  subtasks: readonly SubtaskMetrics[];
}

/** Return whether a job in this state reports metrics. If a job does not report metrics, its last metrics are stale. */
export const reportsMetrics = (state: Schemas['RunState']): boolean => state === 'RUNNING' || state === 'RESTARTING';

const RANK: Record<Level, number> = { ok: 0, low: 1, high: 2 };

/**
 * Aggregate metrics by chain. `measured` and `bottleneck` come from `GET /jobs/{id}/metrics`. `checkpoint` has the state sizes of the last completed checkpoint.
 * `measured` and `checkpoint` can be empty or belong to a different graph, so chains are matched by operators and not by index.
 */
export function chainMetrics(
  { chains }: PhysicalGraph,
  measured: readonly Series[],
  checkpoint: readonly Schemas['ChainStatisticsRead'][],
  bottleneck: Bottleneck | null = null,
): Map<number, ChainMetrics> {
  const series = new Map(measured.map((one) => [`${operatorKey(one)}.${one.index}`, one]));
  return new Map(
    chains.map((chain) => {
      const sizes = sizesOf(chain, checkpoint);
      const uids = operatorKey(chain);
      const subtasks = Array.from({ length: chain.parallelism }, (_, index) => subtaskMetrics(index, series.get(`${uids}.${index}`), sizes.get(index) ?? null));
      const level = subtasks.reduce<Level | null>((found, one) => (one.level !== null && (found === null || RANK[one.level] > RANK[found]) ? one.level : found), null);
      return [
        chain.index,
        {
          level, worst: most(subtasks, 'pressure'), busiest: most(subtasks, 'busy'), bottleneck: bottleneck?.operators.join() === uids ? bottleneck : null, subtasks,
          recordsInPerS: sum(subtasks.map((one) => one.recordsInPerS)), recordsOutPerS: sum(subtasks.map((one) => one.recordsOutPerS)),
          stateBytes: sum(subtasks.map((one) => one.stateBytes)),
        },
      ];
    }),
  );
}

function subtaskMetrics(index: number, series: Series | undefined, stateBytes: number | null): SubtaskMetrics {
  const share = (of: readonly number[] | undefined): number | null => (of && of.length > 0 ? of.at(-1)! / 1000 : null);
  return {
    index, stateBytes,
    level: series?.backpressure.at(-1) ?? null,
    busy: share(series?.busy_ms_per_s), idle: share(series?.idle_ms_per_s), backpressured: share(series?.backpressured_ms_per_s), queued: share(series?.queued_ms_per_s),
    pressure: share(series?.pressure_ms_per_s),
    recordsInPerS: series?.records_in_per_s.at(-1) ?? null, recordsOutPerS: series?.records_out_per_s.at(-1) ?? null,
  };
}

export const operatorKey = ({ operators }: { operators: readonly { uid: string }[] }): string => operators.map(({ uid }) => uid).join();

/** Return the subtask with the largest share. If several subtasks have the same share, return the first of these subtasks. */
function most(subtasks: readonly SubtaskMetrics[], share: 'busy' | 'pressure'): SubtaskMetrics | null {
  return subtasks.reduce<SubtaskMetrics | null>((found, one) => (one[share] !== null && one[share] > (found?.[share] ?? -1) ? one : found), null);
}

/** Return state sizes by subtask index. The result is empty if the checkpoint belongs to a different graph. */
function sizesOf(chain: Chain, checkpoint: readonly Schemas['ChainStatisticsRead'][]): Map<number, number | null> {
  const uids = operatorKey(chain);
  const match = checkpoint.find((one) => operatorKey(one) === uids);
  return new Map((match?.subtasks ?? []).map(({ index, state_size }) => [index, state_size]));
}

/**
 * Return the rate of an edge in records per second: the output rate of the source chain. For a broadcast edge, multiply the output rate by the number
 * of subtasks of the target chain.
 */
export function edgeRate({ source, target, partitioning }: Edge, metrics: ReadonlyMap<number, ChainMetrics>): number | null {
  const rate = metrics.get(source)?.recordsOutPerS ?? null;
  if (rate === null) return null;
  return partitioning === 'broadcast' ? rate * (metrics.get(target)?.subtasks.length ?? 1) : rate;
}
