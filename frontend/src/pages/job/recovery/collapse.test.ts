import { describe, expect, it } from 'vitest';

import { collapse, type Shown } from './collapse';
import { lineageOf, type Checkpoint, type Run } from './lineage';

function run(number: number, from: number | null = null): Run {
  return { id: 100 + number, number, start: from === null ? { mode: 'resume' } : { mode: 'from', checkpoint: from }, running_at: '2026-01-01T00:00:00Z' } as unknown as Run;
}
function checkpoints(runNumber: number, first: number, last: number, fields: (number: number) => Partial<Checkpoint> = () => ({})): Checkpoint[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const number = first + index;
    return { id: number, number, run_id: 100 + runNumber, state: 'COMPLETED', is_savepoint: false, pinned: false, damage: null, discarded_at: null, trigger: 'periodic', ...fields(number) } as Checkpoint;
  });
}
const NONE: ReadonlySet<string> = new Set();
const named = ({ rows }: Shown): string[] =>
  rows.map((row) => (row.kind === 'checkpoint' ? `${row.checkpoint.number}` : row.kind === 'collapsed' ? `${row.count}: ${row.newest}-${row.oldest}` : row.kind));
/** Return the edges as pairs of row names. */
const joined = ({ rows, edges }: Shown): string[] => edges.map(({ from, to }) => `${named({ rows } as Shown)[from]} > ${named({ rows } as Shown)[to]}`);

describe('a collapsed lineage', () => {
  it('shows the newest rows and the oldest row of a stretch, and one collapsed row for all rows between them', () => {
    const shown = collapse(lineageOf([run(1)], checkpoints(1, 1, 60)), NONE);
    // The newest checkpoint is never collapsed, so the stretch starts below the newest checkpoint.
    expect(named(shown)).toEqual([...numbers(60, 50), '48: 49-2', '1', 'beginning']);
    expect(joined(shown)).toContain('1 > 48: 49-2');
    expect(joined(shown)).toContain('48: 49-2 > 50');
    expect(shown.edges).toHaveLength(shown.rows.length - 1);
  });

  it('shows all rows of an expanded stretch', () => {
    const lineage = lineageOf([run(1)], checkpoints(1, 1, 60));
    const [collapsed] = collapse(lineage, NONE).rows.filter((row) => row.kind === 'collapsed');
    expect(collapse(lineage, new Set([collapsed!.stretch]))).toEqual(lineage);
  });

  it('keeps the id of a stretch when checkpoints are added and deleted', () => {
    const stretch = (from: number, to: number): string[] => collapse(lineageOf([run(1)], checkpoints(1, from, to)), NONE).rows.flatMap((row) => (row.kind === 'collapsed' ? [row.stretch] : []));
    expect(stretch(1, 60)).toEqual(stretch(40, 99));
  });

  it('always shows savepoints and pinned, damaged, discarded and imported checkpoints', () => {
    const notCollapsed: Partial<Checkpoint>[] = [{ is_savepoint: true }, { pinned: true }, { damage: 'a file is missing' }, { discarded_at: '2026-01-01T00:00:00Z' }, { trigger: 'import' }];
    for (const fields of notCollapsed) {
      const shown = named(collapse(lineageOf([run(1)], checkpoints(1, 1, 60, (number) => (number === 30 ? fields : {}))), NONE));
      expect(shown).toContain('30');
      // Both above and below checkpoint 30, the ten newest rows and the oldest row stay visible.
      expect(shown.filter((name) => name.includes(':'))).toEqual(['18: 49-32', '18: 19-2']);
    }
  });

  it('always shows branch points and gaps', () => {
    const back = collapse(lineageOf([run(1), run(2, 30)], [...checkpoints(1, 1, 60), ...checkpoints(2, 61, 62)]), NONE);
    expect(named(back)).toContain('30');
    expect(joined(back)).toContain('30 > 30: 60-31');
    expect(joined(back)).toContain('30 > restore');
    const gap = collapse(lineageOf([run(1)], [...checkpoints(1, 1, 20), ...checkpoints(1, 31, 60)]), NONE);
    expect(named(gap)).toContain('31');
  });

  it('shows a stretch of abandoned checkpoints as one row, also if their files are deleted', () => {
    const abandoned = checkpoints(1, 784, 820, (number) => (number < 800 ? { discarded_at: '2026-01-01T00:00:00Z' } : {}));
    const lineage = lineageOf([run(1), run(2, 783)], [...checkpoints(1, 783, 783), ...abandoned, ...checkpoints(2, 821, 822)]);
    const shown = collapse(lineage, NONE);
    expect(named(shown)).toEqual(['822', '821', 'restore', '37: 820-784', '783', 'beginning']);
    expect(joined(shown)).toEqual(expect.arrayContaining(['783 > 37: 820-784', '783 > restore']));
    const [fold] = shown.rows.filter((row) => row.kind === 'collapsed');
    expect(collapse(lineage, new Set([fold!.stretch]))).toEqual(lineage);
  });

  it('divides an abandoned stretch at savepoints, pinned checkpoints and branches', () => {
    const abandoned = checkpoints(1, 2, 20, (number) => ({ is_savepoint: number === 8, pinned: number === 20 }));
    const runs = [run(1), run(2, 1), run(3, 14), run(4, 1)];
    const shown = collapse(lineageOf(runs, [...checkpoints(1, 1, 1), ...abandoned, ...checkpoints(2, 21, 21), ...checkpoints(3, 22, 25), ...checkpoints(4, 26, 26)]), NONE);
    expect(named(shown)).toEqual(['26', 'restore', '4: 25-22', 'restore', '21', 'restore', '20', '5: 19-15', '14', '5: 13-9', '8', '6: 7-2', '1', 'beginning']);
  });

  it('collapses an abandoned branch whose oldest checkpoint is not directly above its branch point', () => {
    const shown = collapse(lineageOf([run(1), run(2, 1), run(3, 1)], [...checkpoints(1, 1, 9), ...checkpoints(2, 10, 19), ...checkpoints(3, 20, 20)]), NONE);
    expect(named(shown)).toEqual(['20', 'restore', '10: 19-10', 'restore', '8: 9-2', '1', 'beginning']);
  });

  it('does not collapse two abandoned checkpoints', () => {
    const lineage = lineageOf([run(1), run(2, 1)], [...checkpoints(1, 1, 3), ...checkpoints(2, 4, 5)]);
    expect(collapse(lineage, NONE)).toEqual(lineage);
  });

  it('does not collapse a short stretch', () => {
    const lineage = lineageOf([run(1)], checkpoints(1, 1, 16));
    expect(collapse(lineage, NONE)).toEqual(lineage);
  });
});

function numbers(from: number, to: number): string[] {
  return Array.from({ length: from - to + 1 }, (_, index) => String(from - index));
}
