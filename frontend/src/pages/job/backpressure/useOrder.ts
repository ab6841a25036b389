import { useEffect, useRef, useState, type RefObject } from 'react';

import type { Schemas } from '../../../api/types';
import { worstFirst } from './heat';

export type OrderedBy = 'worst' | 'graph';
/** So often it follows what is measured. */
const AGAIN_MS = 10_000;

export interface Order {
  by: OrderedBy;
  /** Chains; null: that of the graph. */
  chains: readonly number[] | null;
  orderBy: (by: OrderedBy) => void;
}

/**
 * In which order operators are shown: found when the first is measured, when somebody asks for it, and now and then; but never while somebody
 * points into `among` or has the keyboard there, as rows would slip away below.
 */
export function useOrder(subtasks: readonly Schemas['SubtaskSeriesBody'][], among: RefObject<HTMLElement | null>): Order {
  const [by, setBy] = useState<OrderedBy>('worst');
  const [kept, setWorst] = useState<readonly number[]>([]);
  let worst = kept;
  if (kept.length === 0 && subtasks.length > 0) {
    worst = worstFirst(subtasks);
    setWorst(worst);
  }
  const newest = useRef(subtasks);
  useEffect(() => {
    newest.current = subtasks;
  }, [subtasks]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!among.current?.matches(':hover, :focus-within')) setWorst((before) => unlessSame(before, worstFirst(newest.current)));
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [among]);
  const orderBy = (asked: OrderedBy): void => {
    setBy(asked);
    setWorst((before) => unlessSame(before, worstFirst(subtasks)));
  };
  return { by, chains: by === 'graph' || worst.length === 0 ? null : worst, orderBy };
}

function unlessSame(before: readonly number[], after: readonly number[]): readonly number[] {
  return after.length === 0 || (before.length === after.length && before.every((chain, place) => chain === after[place])) ? before : after;
}
