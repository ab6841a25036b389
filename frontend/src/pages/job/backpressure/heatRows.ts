/** Computes the rows of the heat map. A cell shows one metric of a subtask, such as its busy time or the duration of its alignment in the last checkpoint. Pure. */
import type { Schemas } from '../../../api/types';
import { duration, percent } from '../../../format';
import { toneOf, type StateOf, type Tone } from '../../../theme/states';
import { largest } from '../../../shared/statistics';
import type { ChainStatistics } from '../checkpoints/operatorRows';
import { chainName, type Chain } from '../physicalGraph';
import { operatorKey } from '../overview/graph/chainMetrics';

type Series = Schemas['SubtaskSeriesRead'];
export type Time = StateOf<'time'>;
export type Measure = Time | 'alignment';
export const TIMES: readonly Time[] = ['backpressured', 'busy', 'queued', 'idle'];
export const LABELS: Record<Measure, string> = { backpressured: 'Backpressured', busy: 'Busy', queued: 'Queued', idle: 'Idle', alignment: 'Alignment' };

interface Cell {
  index: number;
  /** The share of time from 0 to 1, or the alignment in milliseconds. Null if unknown. */
  value: number | null;
  /** The intensity of the colour, from 0 to 1. */
  heat: number;
  text: string;
}
export interface HeatRow {
  chain: number;
  name: string;
  /** The highest backpressure level of the operator's subtasks. Null if not measured. */
  level: Schemas['BackpressureLevel'] | null;
  cells: Cell[];
}

const LEVELS: readonly Schemas['BackpressureLevel'][] = ['ok', 'low', 'high'];

export function toneOfMeasure(measure: Measure): Tone {
  return measure === 'alignment' ? toneOf('phase', 'alignment') : toneOf('time', measure);
}

/** Return the time that a subtask spends in one activity, such as busy, in milliseconds per second. */
export function timeSeries(one: Series, time: Time): readonly number[] {
  return one[`${time}_ms_per_s`];
}

/** Return rows with the last sample of each subtask. */
export function timeRows(subtasks: readonly Series[], time: Time): HeatRow[] {
  return byChain(subtasks).map((own) => ({
    chain: own[0]!.chain,
    name: chainName(own[0]!.operators, own[0]!.chain),
    level: worst(own.map(({ backpressure }) => backpressure.at(-1))),
    cells: own.map((one) => {
      const last = timeSeries(one, time).at(-1);
      const value = last === undefined ? null : last / 1000;
      return { index: one.index, value, heat: value ?? 0, text: percent(value) };
    }),
  }));
}

/** Return rows with the alignment of each subtask in a checkpoint. `heat` is the ratio of the alignment to the longest alignment. */
export function alignmentRows(chains: readonly ChainStatistics[], subtasks: readonly Series[]): HeatRow[] {
  const most = largest(chains.flatMap((chain) => chain.subtasks.map(({ alignment }) => alignment?.duration)));
  return chains.map((chain) => ({
    chain: chain.chain,
    name: chainName(chain.operators, chain.chain),
    level: worst(subtasks.filter((one) => one.chain === chain.chain).map(({ backpressure }) => backpressure.at(-1))),
    cells: chain.subtasks.map(({ index, alignment }) => {
      const value = alignment?.duration ?? null;
      return { index, value, heat: value === null || !most ? 0 : value / most, text: duration(value) };
    }),
  }));
}

/** Return rows without cells, for jobs without current metrics. */
export function emptyRows(chains: readonly Chain[]): HeatRow[] {
  return chains.map(({ index, operators }) => ({ chain: index, name: chainName(operators, index), level: null, cells: [] }));
}

/**
 * Return chains sorted by load, which is pressure plus busy time, then by busy time. So a bottleneck comes before the chains that wait for it, and
 * idle chains come last. Shares fluctuate slightly, so they are rounded, and chains with equal shares stay in graph order.
 */
export function worstFirst(subtasks: readonly Series[]): number[] {
  const last = (values: readonly number[]): number => values.at(-1) ?? 0;
  const rank = (own: readonly Series[], of: (one: Series) => number): number => Math.round((largest(own.map(of)) ?? 0) / 100);
  return byChain(subtasks)
    .map((own) => ({
      chain: own[0]!.chain,
      load: rank(own, (one) => last(one.pressure_ms_per_s) + last(one.busy_ms_per_s)),
      busy: rank(own, (one) => last(one.busy_ms_per_s)),
    }))
    .sort((a, b) => b.load - a.load || b.busy - a.busy || a.chain - b.chain)
    .map(({ chain }) => chain);
}

/** `order`: the sorted chains, or null for graph order. Chains that are not in `order` come last. */
export function sortRows(rows: readonly HeatRow[], order: readonly number[] | null): readonly HeatRow[] {
  if (order === null) return rows;
  const places = new Map(order.map((chain, place) => [chain, place]));
  const place = ({ chain }: HeatRow): number => places.get(chain) ?? order.length + chain;
  return rows.toSorted((a, b) => place(a) - place(b));
}

/** Drop samples of an earlier graph or parallelism. Return all samples if the graph is unknown. */
export function deployedSubtasks(subtasks: readonly Series[], chains: readonly Chain[]): readonly Series[] {
  if (chains.length === 0) return subtasks;
  const deployed = new Map(chains.map((chain) => [chain.index, { parallelism: chain.parallelism, uids: operatorKey(chain) }]));
  return subtasks.filter((one) => {
    const chain = deployed.get(one.chain);
    return chain !== undefined && one.index < chain.parallelism && operatorKey(one) === chain.uids;
  });
}

function byChain(subtasks: readonly Series[]): Series[][] {
  const found = new Map<number, Series[]>();
  for (const one of subtasks) found.set(one.chain, [...(found.get(one.chain) ?? []), one]);
  return [...found.keys()].sort((a, b) => a - b).map((chain) => found.get(chain)!.sort((a, b) => a.index - b.index));
}

function worst(levels: readonly (Schemas['BackpressureLevel'] | undefined)[]): Schemas['BackpressureLevel'] | null {
  return LEVELS.findLast((level) => levels.includes(level)) ?? null;
}
