/** What is measured of chains and subtasks just now, taken together for the graph. Pure. */
import type { Schemas } from '../../../api/types';
import type { Chain, Edge, PhysicalGraph } from './graph';

export type Level = Schemas['BackpressureLevel'];
type Series = Schemas['SubtaskSeriesBody'];

export interface SubtaskFigures {
  index: number;
  level: Level | null;
  /** Shares of its time, 0 to 1; null: not measured. */
  busy: number | null;
  idle: number | null;
  backpressured: number | null;
  queued: number | null;
  recordsInPerS: number | null;
  recordsOutPerS: number | null;
  stateBytes: number | null;
}
export interface ChainFigures {
  /** Of the subtask that is worst off. */
  level: Level | null;
  /** Who waits most for others, and who has most to do: the bottleneck is busy, and who stands before it waits. Null: not measured. */
  worst: SubtaskFigures | null;
  busiest: SubtaskFigures | null;
  recordsInPerS: number | null;
  recordsOutPerS: number | null;
  stateBytes: number | null;
  subtasks: readonly SubtaskFigures[];
}

/** Of a job in another state nothing is measured: what it did before it was stopped is not what it does. */
export const isMeasured = (state: Schemas['RunState']): boolean => state === 'RUNNING' || state === 'RESTARTING';

const RANK: Record<Level, number> = { ok: 0, low: 1, high: 2 };

/**
 * `measured`: of `GET /jobs/{id}/metrics`; `checkpoint`: the last completed one, for the sizes of states. Either may be missing, or of another
 * graph than the one that is shown: chains are told by their operators, as numbers shift.
 */
export function figuresOf(
  { chains }: PhysicalGraph,
  measured: readonly Series[],
  checkpoint: readonly Schemas['ChainStatisticsBody'][],
): Map<number, ChainFigures> {
  const series = new Map(measured.map((one) => [`${uidsOf(one)}.${one.index}`, one]));
  return new Map(
    chains.map((chain) => {
      const sizes = sizesOf(chain, checkpoint);
      const uids = uidsOf(chain);
      const subtasks = Array.from({ length: chain.parallelism }, (_, index) => subtaskFigures(index, series.get(`${uids}.${index}`), sizes.get(index) ?? null));
      const level = subtasks.reduce<Level | null>((found, one) => (one.level !== null && (found === null || RANK[one.level] > RANK[found]) ? one.level : found), null);
      return [
        chain.index,
        {
          level, worst: most(subtasks, 'backpressured'), busiest: most(subtasks, 'busy'), subtasks,
          recordsInPerS: sum(subtasks.map((one) => one.recordsInPerS)), recordsOutPerS: sum(subtasks.map((one) => one.recordsOutPerS)),
          stateBytes: sum(subtasks.map((one) => one.stateBytes)),
        },
      ];
    }),
  );
}

function subtaskFigures(index: number, series: Series | undefined, stateBytes: number | null): SubtaskFigures {
  const share = (of: readonly number[] | undefined): number | null => (of && of.length > 0 ? of.at(-1)! / 1000 : null);
  return {
    index, stateBytes,
    level: series?.backpressure.at(-1) ?? null,
    busy: share(series?.busy_ms_per_s), idle: share(series?.idle_ms_per_s), backpressured: share(series?.backpressured_ms_per_s), queued: share(series?.queued_ms_per_s),
    recordsInPerS: series?.records_in_per_s.at(-1) ?? null, recordsOutPerS: series?.records_out_per_s.at(-1) ?? null,
  };
}

export const uidsOf = ({ operators }: { operators: readonly { uid: string }[] }): string => operators.map(({ uid }) => uid).join();

/** Of whom the share is largest; the first one of several. */
function most(subtasks: readonly SubtaskFigures[], share: 'busy' | 'backpressured'): SubtaskFigures | null {
  return subtasks.reduce<SubtaskFigures | null>((found, one) => (one[share] !== null && one[share] > (found?.[share] ?? -1) ? one : found), null);
}

/** By subtask. Nothing if the checkpoint is of another graph. */
function sizesOf(chain: Chain, checkpoint: readonly Schemas['ChainStatisticsBody'][]): Map<number, number | null> {
  const uids = uidsOf(chain);
  const same = checkpoint.find((one) => uidsOf(one) === uids);
  return new Map((same?.subtasks ?? []).map(({ index, state_size }) => [index, state_size]));
}

/** Null if nothing of it is known. */
function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((one) => one !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

/** What goes over an edge: all that its source hands on, to each subtask of the target if it is broadcast. */
export function rateOf({ source, target, partitioning }: Edge, figures: ReadonlyMap<number, ChainFigures>): number | null {
  const rate = figures.get(source)?.recordsOutPerS ?? null;
  if (rate === null) return null;
  return partitioning === 'broadcast' ? rate * (figures.get(target)?.subtasks.length ?? 1) : rate;
}
