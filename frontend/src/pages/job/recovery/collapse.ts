/** Collapses stretches of checkpoints without flags in the lineage tree, because a job can retain hundreds of checkpoints. Pure. */
import type { LineageEdge, Lineage, Row } from './lineage';

/** The number of rows that stay visible at the newer end of a collapsed stretch. */
const NEWEST_SHOWN = 10;
/** The number of rows that stay visible at the older end of a collapsed stretch. */
const OLDEST_SHOWN = 1;
/** The minimum number of rows to collapse. */
const COLLAPSED_MIN = 5;

/**
 * A row that replaces a stretch of consecutive checkpoints. `stretch`: the name of the stretch in the parameter `open` of `collapse`. The name of a
 * stretch does not change when checkpoints are added or deleted at the ends of the stretch.
 */
export type CollapsedRow = Pick<Row, 'key' | 'lane' | 'current'> & { kind: 'collapsed'; stretch: string; newest: number; oldest: number; count: number };
export type Shown = Omit<Lineage, 'rows'> & { rows: readonly (Row | CollapsedRow)[] };

/** Return the rows to display. `open`: the names of the stretches to show in full. */
export function collapse(lineage: Lineage, open: ReadonlySet<string>): Shown {
  const { rows, edges } = lineage;
  const plain = plainRows(lineage);
  const shown: (Row | CollapsedRow)[] = [];
  /** For each row of the lineage, the index of the displayed row that shows or replaces this row. */
  const at: number[] = [];
  for (let first = 0; first < rows.length; ) {
    let end = first;
    while (end < rows.length && plain[end] && rows[end]!.lane === rows[first]!.lane) end += 1;
    const [from, to] = [first + NEWEST_SHOWN, end - OLDEST_SHOWN];
    const fold = to - from >= COLLAPSED_MIN ? collapsedRow(rows.slice(from, to)) : null;
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
 * Return for each row whether it is plain. A plain row is a checkpoint that has no flags and is connected only to the rows directly above and below
 * it.
 */
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
    const remarkable = is_savepoint || pinned || damage !== null || discarded_at !== null || trigger === 'import' || number === newest || branchPoints.has(number);
    const over = above.get(index) ?? [];
    return !remarkable && below.get(index) === index + 1 && (over.length === 0 || (over.length === 1 && over[0] === index - 1));
  });
}
