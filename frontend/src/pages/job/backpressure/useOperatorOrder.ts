import { useEffect, useRef, useState, type RefObject } from 'react';

import type { Schemas } from '../../../api/types';
import { worstFirst } from './heatRows';

export type OrderBy = 'worst' | 'graph';
/** The interval at which operators are sorted again. */
const AGAIN_MS = 10_000;

export interface Order {
  by: OrderBy;
  /** The sorted chains. Null means graph order. */
  chains: readonly number[] | null;
  orderBy: (by: OrderBy) => void;
}

/**
 * Return the order of operators. Operators are sorted when the first samples arrive, when the user selects an order, and periodically. Periodic
 * sorting pauses while the pointer or the focus is in the element `among`, so that rows do not move away from the pointer.
 */
export function useOperatorOrder(subtasks: readonly Schemas['SubtaskSeriesRead'][], among: RefObject<HTMLElement | null>): Order {
  const [by, setBy] = useState<OrderBy>('worst');
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
  const orderBy = (asked: OrderBy): void => {
    setBy(asked);
    setWorst((before) => unlessSame(before, worstFirst(subtasks)));
  };
  return { by, chains: by === 'graph' || worst.length === 0 ? null : worst, orderBy };
}

function unlessSame(before: readonly number[], after: readonly number[]): readonly number[] {
  return after.length === 0 || (before.length === after.length && before.every((chain, place) => chain === after[place])) ? before : after;
}
