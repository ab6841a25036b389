/** A checkpoint by operator and subtask, as far as it has got: what is stored of it, and what its stream has told since. Pure. */
import type { Schemas } from '../../../api/types';
import type { Progress } from '../../../live/jobLive';
import { largest } from '../../../shared/statistics';
import { nameOf } from './names';

type Detail = Schemas['CheckpointDetailBody'];
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
/** Of a physical graph as the runtime writes it. */
export interface GraphChain {
  index: number;
  operators: Schemas['OperatorNameBody'][];
  parallelism: number;
}
/** What is known of a chain in a checkpoint. */
export type Chain = Pick<Schemas['ChainStatisticsBody'], 'chain' | 'operators' | 'subtasks'>;

interface Graph {
  logical?: { operators?: { uid: string; name?: string | null }[] };
  chains?: { index: number; operators: string[]; parallelism: number }[];
}

export function chainsOf(graph: Record<string, unknown> | undefined): GraphChain[] {
  const { logical, chains = [] } = (graph ?? {}) as Graph;
  const names = new Map((logical?.operators ?? []).map(({ uid, name }) => [uid, name || uid]));
  return chains.map(({ index, operators, parallelism }) => ({ index, parallelism, operators: operators.map((uid) => ({ uid, name: names.get(uid) ?? uid })) }));
}

/** Who has acknowledged: as it is stored, and as its stream has told since. Chains in their order, those of the graph in any case. */
export function chainsSoFar({ id, statistics }: Pick<Detail, 'id' | 'statistics'>, graph: readonly GraphChain[], live: Progress | null): Chain[] {
  const found = new Map<number, Chain>(graph.map(({ index, operators }) => [index, { chain: index, operators, subtasks: [] }]));
  for (const { chain, operators, subtasks } of statistics.chains)
    found.set(chain, { chain, operators: operators.length > 0 ? operators : (found.get(chain)?.operators ?? []), subtasks: [...subtasks] });
  for (const [chain, index, afterMs] of live?.checkpoint_id === id ? live.progress : []) {
    const own = found.get(chain!) ?? { chain: chain!, operators: [], subtasks: [] };
    if (!own.subtasks.some((one) => one.index === index)) own.subtasks.push(told(index!, afterMs!));
    found.set(chain!, own);
  }
  return [...found.values()].sort((a, b) => a.chain - b.chain);
}

/** What it measured comes when the checkpoint is completed. */
function told(index: number, afterMs: number): Schemas['SubtaskBody'] {
  return {
    index, status: 'COMPLETED', ack_timestamp: null, end_to_end_duration: afterMs, state_size: null, checkpoint: null, alignment: null, start_delay: null,
    unaligned_checkpoint: false, aborted: false, straggler: false,
  };
}

/** `graph`: who is yet to acknowledge; empty if it is not known. */
export function operatorRows(chains: readonly Chain[], graph: readonly GraphChain[]): OperatorRow[] {
  const parallelisms = new Map(graph.map(({ index, parallelism }) => [index, parallelism]));
  return chains.map((one) => {
    const own = new Map(one.subtasks.map((subtask) => [subtask.index, subtask]));
    const parallelism = parallelisms.get(one.chain) ?? 0;
    const indexes = new Set([...Array.from({ length: parallelism }, (_, index) => index), ...own.keys()]);
    const subtasks = [...indexes].sort((a, b) => a - b).map((index) => subtaskRow(index, own.get(index)));
    return {
      chain: one.chain,
      name: nameOf(one),
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

function subtaskRow(index: number, known: Schemas['SubtaskBody'] | undefined): SubtaskRow {
  return {
    index,
    acknowledged: known !== undefined,
    tookMs: known?.end_to_end_duration ?? null,
    startDelayMs: known?.start_delay ?? null,
    alignmentMs: known?.alignment?.duration ?? null,
    syncMs: known?.checkpoint?.sync ?? null,
    asyncMs: known?.checkpoint?.async ?? null,
    stateBytes: known?.state_size ?? null,
    straggler: known?.straggler ?? false,
  };
}

function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

/** Nothing that is seen of an operator has changed: while a checkpoint is in progress that is so of most of them. */
export function looksLike(one: OperatorRow, other: OperatorRow): boolean {
  return one.subtasks.length === other.subtasks.length && alike(one, other) && one.subtasks.every((subtask, place) => alike(subtask, other.subtasks[place]!));
}

function alike<Row extends OperatorRow | SubtaskRow>(one: Row, other: Row): boolean {
  return (Object.keys(one) as (keyof Row)[]).every((name) => name === 'subtasks' || one[name] === other[name]);
}
