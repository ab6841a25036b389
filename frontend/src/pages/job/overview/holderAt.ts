import { holderOf, type Holder } from './holder';
import { placeOf } from './topology';
import type { Wave } from './wavefront';

const known = new WeakMap<Wave, Holder | null>();

/** Who holds it, found out once for each state of the wavefront, however many ask. */
export function holderIn(wave: Wave): Holder | null {
  let found = known.get(wave);
  if (found === undefined) known.set(wave, (found = holderOf(wave)));
  return found;
}

/** Index of the subtask that holds everybody, if it is one of this chain; -1: it is not. */
export function holderAt(wave: Wave | null, chain: number): number {
  const holder = wave && holderIn(wave);
  if (!holder || !('subtask' in holder)) return -1;
  const place = placeOf(wave.topology, holder.subtask);
  return place.chain === chain ? place.index : -1;
}
