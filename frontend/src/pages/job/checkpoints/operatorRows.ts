/** Computes the progress of a checkpoint by operator and subtask from stored statistics and live progress. Pure. */
import type { Schemas } from '../../../api/types';
import type { Progress } from '../../../live/jobLive';
import { largest, sum } from '../../../shared/statistics';
import { chainName, type Chain } from '../physicalGraph';

type Detail = Schemas['CheckpointDetailRead'];
export interface SubtaskRow {
  index: number;
  acknowledged: boolean;
  tookMs: number | null;
  startDelayMs: number | null;
  alignmentMs: number | null;
  syncMs: number | null;
  asyncMs: number | null;
  stateBytes: number | null;
  straggler: boolean;
}
export interface OperatorRow extends Omit<SubtaskRow, 'index' | 'acknowledged' | 'straggler'> {
  chain: number;
  name: string;
  acknowledged: number;
  subtasks: SubtaskRow[];
  stragglers: number;
}
/** The statistics of a chain in a checkpoint. */
export type ChainStatistics = Pick<Schemas['ChainStatisticsRead'], 'chain' | 'operators' | 'subtasks'>;

/** Merge stored statistics with live progress. The result contains all chains of the graph, in graph order. */
export function chainProgress({ id, statistics }: Pick<Detail, 'id' | 'statistics'>, graph: readonly Chain[], live: Progress | null): ChainStatistics[] {
  const merged = new Map<number, ChainStatistics>(graph.map(({ index, operators }) => [index, { chain: index, operators, subtasks: [] }]));
  for (const { chain, operators, subtasks } of statistics.chains)
    merged.set(chain, { chain, operators: operators.length > 0 ? operators : (merged.get(chain)?.operators ?? []), subtasks: [...subtasks] });
  for (const [chain, index, afterMs] of live?.checkpoint_id === id ? live.progress : []) {
    const own = merged.get(chain!) ?? { chain: chain!, operators: [], subtasks: [] };
    if (!own.subtasks.some((one) => one.index === index)) own.subtasks.push(acknowledgedSubtask(index!, afterMs!));
    merged.set(chain!, own);
  }
  return [...merged.values()].sort((a, b) => a.chain - b.chain);
}

/** Return a subtask that has acknowledged but has no measurements yet. Measurements are stored when the checkpoint completes. */
function acknowledgedSubtask(index: number, afterMs: number): Schemas['SubtaskStatisticsRead'] {
  return {
    index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: afterMs, state_size: null, checkpoint: null, alignment: null, start_delay: null,
    unaligned_checkpoint: false, aborted: false, straggler: false,
  };
}

/** `graph`: the chains whose subtasks take part in the checkpoint. If the graph is unknown, this list is empty. */
export function operatorRows(chains: readonly ChainStatistics[], graph: readonly Chain[]): OperatorRow[] {
  const parallelisms = new Map(graph.map(({ index, parallelism }) => [index, parallelism]));
  return chains.map((one) => {
    const own = new Map(one.subtasks.map((subtask) => [subtask.index, subtask]));
    const parallelism = parallelisms.get(one.chain) ?? 0;
    const indexes = new Set([...Array.from({ length: parallelism }, (_, index) => index), ...own.keys()]);
    const subtasks = [...indexes].sort((a, b) => a - b).map((index) => subtaskRow(index, own.get(index)));
    return {
      chain: one.chain,
      name: chainName(one.operators, one.chain),
      acknowledged: own.size,
      tookMs: largest(subtasks.map(({ tookMs }) => tookMs)),
      startDelayMs: largest(subtasks.map(({ startDelayMs }) => startDelayMs)),
      alignmentMs: largest(subtasks.map(({ alignmentMs }) => alignmentMs)),
      syncMs: largest(subtasks.map(({ syncMs }) => syncMs)),
      asyncMs: largest(subtasks.map(({ asyncMs }) => asyncMs)),
      stateBytes: sum(subtasks.map(({ stateBytes }) => stateBytes)),
      stragglers: subtasks.filter(({ straggler }) => straggler).length,
      subtasks,
    };
  });
}

function subtaskRow(index: number, measured: Schemas['SubtaskStatisticsRead'] | undefined): SubtaskRow {
  return {
    index,
    acknowledged: measured !== undefined,
    tookMs: measured?.end_to_end_duration ?? null,
    startDelayMs: measured?.start_delay ?? null,
    alignmentMs: measured?.alignment?.duration ?? null,
    syncMs: measured?.checkpoint?.sync ?? null,
    asyncMs: measured?.checkpoint?.async ?? null,
    stateBytes: measured?.state_size ?? null,
    straggler: measured?.straggler ?? false,
  };
}

/** Return whether both rows look the same. Most rows do not change between two updates. */
export function isEqualRow(one: OperatorRow, other: OperatorRow): boolean {
  return one.subtasks.length === other.subtasks.length && sameFields(one, other) && one.subtasks.every((subtask, place) => sameFields(subtask, other.subtasks[place]!));
}

function sameFields<Row extends OperatorRow | SubtaskRow>(one: Row, other: Row): boolean {
  return (Object.keys(one) as (keyof Row)[]).every((name) => name === 'subtasks' || one[name] === other[name]);
}
