/**
 * Collapses stretches of checkpoints without flags in the lineage tree, because a job can retain hundreds of checkpoints. A stretch on an abandoned
 * branch is collapsed to a single row. Pure.
 */
import type { LineageEdge, Lineage, Row } from './lineage';

/**
 * `newestShown` and `oldestShown`: the number of rows that stay visible at the ends of a collapsed stretch. `collapsedMin`: the minimum number of rows
 * to collapse.
 */
const CURRENT = { newestShown: 10, oldestShown: 1, collapsedMin: 5 };
const ABANDONED = { newestShown: 0, oldestShown: 0, collapsedMin: 3 };

/**
 * A row that replaces a stretch of consecutive checkpoints. `stretch`: the name of the stretch in the parameter `open` of `collapse`. The name of a
 * stretch does not change when checkpoints are added or deleted at the ends of the stretch.
 */
export type CollapsedRow = Pick<Row, 'key' | 'lane' | 'current'> & { kind: 'collapsed'; stretch: string; newest: number; oldest: number; count: number };
export type Shown = Omit<Lineage, 'rows'> & { rows: readonly (Row | CollapsedRow)[] };

/** Return the rows to display. `open`: the names of the stretches to show in full. */
export function collapse(lineage: Lineage, open: ReadonlySet<string>): Shown {
  const { rows, edges } = lineage;
  const { plain, below } = plainRows(lineage);
  const shown: (Row | CollapsedRow)[] = [];
  /** For each row of the lineage, the index of the displayed row that shows or replaces this row. */
  const at: number[] = [];
  for (let first = 0; first < rows.length; ) {
    let end = first;
    while (end < rows.length && plain[end] && rows[end]!.lane === rows[first]!.lane && (end === first || below.get(end - 1) === end)) end += 1;
    const { newestShown, oldestShown, collapsedMin } = rows[first]!.current ? CURRENT : ABANDONED;
    const [from, to] = [first + newestShown, end - oldestShown];
    const fold = to - from >= collapsedMin ? collapsedRow(rows.slice(from, to)) : null;
    const last = Math.max(end, first + 1);
    for (let index = first; index < last; index += 1) {
      const inside = fold !== null && !open.has(fold.stretch) && index >= from && index < to;
      if (!inside) shown.push(rows[index]!);
      else if (index === from) shown.push(fold);
      at[index] = shown.length - 1;
    }
    first = last;
  }
  return { ...lineage, rows: shown, edges: edges.flatMap((edge) => remapEdge(edge, at)) };
}

function remapEdge({ from, to, ...edge }: LineageEdge, at: readonly number[]): LineageEdge[] {
  const [older, newer] = [at[from]!, at[to]!];
  return older === newer ? [] : [{ from: older, to: newer, ...edge }];
}

function collapsedRow(rows: readonly Row[]): CollapsedRow | null {
  const checkpoints = rows.flatMap((row) => (row.kind === 'checkpoint' ? [row.checkpoint] : []));
  const [newest, oldest, row] = [checkpoints[0], checkpoints.at(-1), rows[0]];
  if (!newest || !oldest || !row) return null;
  // The run id alone is not a unique name for a stretch of rows. If some checkpoints of a run are on an abandoned branch, the checkpoints of the run
  // are in two lanes.
  const stretch = `${oldest.run_id}-${row.lane}`;
  return { key: `collapse-${stretch}-${newest.number}`, stretch, kind: 'collapsed', lane: row.lane, current: row.current, newest: newest.number, oldest: oldest.number, count: checkpoints.length };
}

/**
 * Return for each row whether it is plain, and the row below it in its branch. A plain row is a checkpoint that has no flags and is connected only to
 * the rows directly above and below it. The oldest checkpoint of an abandoned branch can be connected to any older row.
 */
function plainRows({ rows, edges, newest, branchPoints }: Lineage): { plain: boolean[]; below: ReadonlyMap<number, number> } {
  const above = new Map<number, number[]>();
  const below = new Map<number, number>();
  for (const { from, to, broken } of edges) {
    above.set(from, [...(above.get(from) ?? []), to]);
    if (!broken) below.set(to, from);
  }
  const plain = rows.map((row, index) => {
    if (row.kind !== 'checkpoint') return false;
    const { number, is_savepoint, pinned, damage, discarded_at, trigger } = row.checkpoint;
    // Weir deletes the files of most abandoned checkpoints, so deleted files are remarkable only on the current branch.
    const remarkable = is_savepoint || pinned || damage !== null || (discarded_at !== null && row.current) || trigger === 'import' || number === newest || branchPoints.has(number);
    const over = above.get(index) ?? [];
    const under = below.get(index);
    return !remarkable && (row.current ? under === index + 1 : under !== undefined) && (over.length === 0 || (over.length === 1 && over[0] === index - 1));
  });
  return { plain, below };
}
