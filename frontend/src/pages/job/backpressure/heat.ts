/** The heat map over subtasks: what each of them does now, or did in the last checkpoint. Pure. */
import type { Schemas } from '../../../api/types';
import { duration, percent } from '../../../format';
import { toneOf, type StateOf, type Tone } from '../../../look/states';
import { largest } from '../../../shared/statistics';
import { nameOf } from '../checkpoints/names';
import type { Chain, GraphChain } from '../checkpoints/operators';
import { uidsOf } from '../overview/figures';

type Series = Schemas['SubtaskSeriesBody'];
export type Time = StateOf<'time'>;
export type Measure = Time | 'alignment';
export const TIMES: readonly Time[] = ['backpressured', 'busy', 'queued', 'idle'];
export const LABELS: Record<Measure, string> = { backpressured: 'Back-pressured', busy: 'Busy', queued: 'Queued', idle: 'Idle', alignment: 'Alignment' };

export interface Cell {
  index: number;
  /** Share of time; of alignment milliseconds. Null: not known. */
  value: number | null;
  /** Of the strongest colour, from 0 to 1. */
  heat: number;
  said: string;
}
export interface HeatRow {
  chain: number;
  name: string;
  /** Of its worst subtask; null where that is not measured. */
  level: Schemas['BackpressureLevel'] | null;
  cells: Cell[];
}

const LEVELS: readonly Schemas['BackpressureLevel'][] = ['ok', 'low', 'high'];

export function toneOfMeasure(measure: Measure): Tone {
  return measure === 'alignment' ? toneOf('phase', 'alignment') : toneOf('time', measure);
}

/** Per second of a kind of time, of a subtask. */
export function timeOf(one: Series, time: Time): readonly number[] {
  return one[`${time}_ms_per_s`];
}

/** What subtasks did in their last step. */
export function heatOfTime(subtasks: readonly Series[], time: Time): HeatRow[] {
  return byChain(subtasks).map((own) => ({
    chain: own[0]!.chain,
    name: nameOf(own[0]!),
    level: worst(own.map(({ backpressure }) => backpressure.at(-1))),
    cells: own.map((one) => {
      const last = timeOf(one, time).at(-1);
      const value = last === undefined ? null : last / 1000;
      return { index: one.index, value, heat: value ?? 0, said: percent(value) };
    }),
  }));
}

/** How long subtasks aligned in a checkpoint, beside the one that took longest. */
export function heatOfAlignment(chains: readonly Chain[], subtasks: readonly Series[]): HeatRow[] {
  const most = largest(chains.flatMap((chain) => chain.subtasks.map(({ alignment }) => alignment?.duration)));
  return chains.map((chain) => ({
    chain: chain.chain,
    name: nameOf(chain),
    level: worst(subtasks.filter((one) => one.chain === chain.chain).map(({ backpressure }) => backpressure.at(-1))),
    cells: chain.subtasks.map(({ index, alignment }) => {
      const value = alignment?.duration ?? null;
      return { index, value, heat: value === null || !most ? 0 : value / most, said: duration(value) };
    }),
  }));
}

/** Operators of a job of which nothing is told now. */
export function heatOfNothing(chains: readonly GraphChain[]): HeatRow[] {
  return chains.map(({ index, operators }) => ({ chain: index, name: nameOf({ chain: index, operators }), level: null, cells: [] }));
}

/**
 * Operators by their level, and of one level by who is held up most. Those that are well stay in the order of the graph: which of them waits for
 * a hundredth of its time is chance, and would only have them jump.
 */
export function worstFirst(subtasks: readonly Series[]): number[] {
  const rank = (own: readonly Series[]): number => {
    const level = LEVELS.indexOf(worst(own.map(({ backpressure }) => backpressure.at(-1))) ?? 'ok');
    const share = (largest(own.map((one) => one.backpressured_ms_per_s.at(-1))) ?? 0) / 1000;
    return level === 0 ? 0 : level + Math.min(0.999, share);
  };
  return byChain(subtasks)
    .map((own) => ({ chain: own[0]!.chain, rank: rank(own) }))
    .sort((a, b) => b.rank - a.rank || a.chain - b.chain)
    .map(({ chain }) => chain);
}

/** `order`: chains; null: that of the graph. Who is not in it comes last. */
export function inOrder(rows: readonly HeatRow[], order: readonly number[] | null): readonly HeatRow[] {
  if (order === null) return rows;
  const places = new Map(order.map((chain, place) => [chain, place]));
  const place = ({ chain }: HeatRow): number => places.get(chain) ?? order.length + chain;
  return rows.toSorted((a, b) => place(a) - place(b));
}

/** Without what was told before the job was changed or rescaled: for some time that is among what was told of late. All, as long as no graph is known. */
export function deployedOf(subtasks: readonly Series[], chains: readonly GraphChain[]): readonly Series[] {
  if (chains.length === 0) return subtasks;
  const deployed = new Map(chains.map((chain) => [chain.index, { parallelism: chain.parallelism, uids: uidsOf(chain) }]));
  return subtasks.filter((one) => {
    const chain = deployed.get(one.chain);
    return chain !== undefined && one.index < chain.parallelism && uidsOf(one) === chain.uids;
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
