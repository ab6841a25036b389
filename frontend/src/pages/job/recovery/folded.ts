/**
 * A tree in which long stretches of checkpoints that nothing distinguishes are one row. Pure.
 *
 * A job that keeps hundreds, or that was taken back over hundreds, would be pages of rows that differ by a second.
 */
import type { Edge, Lineage, Row } from './lineage';

/** Of a stretch the newest rows are shown, which people go back to, and the oldest, where it begins. */
const NEWEST_SHOWN = 10;
const OLDEST_SHOWN = 1;
/** To fold fewer saves nothing. */
const FOLDED_MIN = 5;

/** `stretch`: what `open` names it by. It stays the same while checkpoints come and go at its ends. */
export type Folded = Pick<Row, 'key' | 'lane' | 'current'> & { kind: 'folded'; stretch: string; newest: number; oldest: number; count: number };
export type Shown = Omit<Lineage, 'rows'> & { rows: readonly (Row | Folded)[] };

/** `open`: stretches of which all is shown. */
export function folded(lineage: Lineage, open: ReadonlySet<string>): Shown {
  const { rows, edges } = lineage;
  const plain = plainRows(lineage);
  const shown: (Row | Folded)[] = [];
  /** Where each row of the lineage is shown. */
  const at: number[] = [];
  for (let first = 0; first < rows.length; ) {
    let end = first;
    while (end < rows.length && plain[end] && rows[end]!.lane === rows[first]!.lane) end += 1;
    const [from, to] = [first + NEWEST_SHOWN, end - OLDEST_SHOWN];
    const fold = to - from >= FOLDED_MIN ? foldOf(rows.slice(from, to)) : null;
    const last = Math.max(end, first + 1);
    for (let index = first; index < last; index += 1) {
      const inside = fold !== null && !open.has(fold.stretch) && index >= from && index < to;
      if (!inside) shown.push(rows[index]!);
      else if (index === from) shown.push(fold);
      at[index] = shown.length - 1;
    }
    first = last;
  }
  return { ...lineage, rows: shown, edges: edges.flatMap((edge) => moved(edge, at)) };
}

function moved({ from, to, ...edge }: Edge, at: readonly number[]): Edge[] {
  const [older, newer] = [at[from]!, at[to]!];
  return older === newer ? [] : [{ from: older, to: newer, ...edge }];
}

function foldOf(rows: readonly Row[]): Folded | null {
  const checkpoints = rows.flatMap((row) => (row.kind === 'checkpoint' ? [row.checkpoint] : []));
  const [newest, oldest, row] = [checkpoints[0], checkpoints.at(-1), rows[0]];
  if (!newest || !oldest || !row) return null;
  // Those of one run lie in one lane, but for what was left behind of it.
  const stretch = `${oldest.run_id}-${row.lane}`;
  return { key: `folded-${stretch}-${newest.number}`, stretch, kind: 'folded', lane: row.lane, current: row.current, newest: newest.number, oldest: oldest.number, count: checkpoints.length };
}

/** Checkpoints about which nothing is to be said but their number: in line with the row above and the row below, and with nothing else. */
function plainRows({ rows, edges, newest, branchPoints }: Lineage): boolean[] {
  const above = new Map<number, number[]>();
  const below = new Map<number, number>();
  for (const { from, to, broken } of edges) {
    above.set(from, [...(above.get(from) ?? []), to]);
    if (!broken) below.set(to, from);
  }
  return rows.map((row, index) => {
    if (row.kind !== 'checkpoint') return false;
    const { number, is_savepoint, pinned, damage, discarded_at, trigger } = row.checkpoint;
    const told = is_savepoint || pinned || damage !== null || discarded_at !== null || trigger === 'import' || number === newest || branchPoints.has(number);
    const over = above.get(index) ?? [];
    return !told && below.get(index) === index + 1 && (over.length === 0 || (over.length === 1 && over[0] === index - 1));
  });
}
