import { describe, expect, it } from 'vitest';

import { folded, type Shown } from './folded';
import { lineageOf, type Checkpoint, type Run } from './lineage';

function run(number: number, from: number | null = null): Run {
  return { id: 100 + number, number, start: from === null ? { mode: 'resume' } : { mode: 'from', checkpoint: from }, running_at: '2026-01-01T00:00:00Z' } as unknown as Run;
}
function taken(runNumber: number, first: number, last: number, more: (number: number) => Partial<Checkpoint> = () => ({})): Checkpoint[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const number = first + index;
    return { id: number, number, run_id: 100 + runNumber, state: 'COMPLETED', is_savepoint: false, pinned: false, damage: null, discarded_at: null, trigger: 'periodic', ...more(number) } as Checkpoint;
  });
}
const NONE: ReadonlySet<string> = new Set();
const named = ({ rows }: Shown): string[] =>
  rows.map((row) => (row.kind === 'checkpoint' ? `${row.checkpoint.number}` : row.kind === 'folded' ? `${row.count}: ${row.newest}-${row.oldest}` : row.kind));
/** Each edge joins rows of the same names as before, but for the folds between. */
const joined = ({ rows, edges }: Shown): string[] => edges.map(({ from, to }) => `${named({ rows } as Shown)[from]} > ${named({ rows } as Shown)[to]}`);

describe('a long lineage', () => {
  it('shows the newest of a stretch and where it begins, and the rest as one row', () => {
    const shown = folded(lineageOf([run(1)], taken(1, 1, 60)), NONE);
    // The newest one is said to be it, so the stretch begins below it.
    expect(named(shown)).toEqual([...numbers(60, 50), '48: 49-2', '1', 'beginning']);
    expect(joined(shown)).toContain('1 > 48: 49-2');
    expect(joined(shown)).toContain('48: 49-2 > 50');
    expect(shown.edges).toHaveLength(shown.rows.length - 1);
  });

  it('shows all of a stretch that was opened', () => {
    const lineage = lineageOf([run(1)], taken(1, 1, 60));
    const [fold] = folded(lineage, NONE).rows.filter((row) => row.kind === 'folded');
    expect(folded(lineage, new Set([fold!.stretch]))).toEqual(lineage);
  });

  it('is named the same while checkpoints come and go', () => {
    const stretch = (from: number, to: number): string[] => folded(lineageOf([run(1)], taken(1, from, to)), NONE).rows.flatMap((row) => (row.kind === 'folded' ? [row.stretch] : []));
    expect(stretch(1, 60)).toEqual(stretch(40, 99));
  });

  it('never hides what something is to be said about', () => {
    const said: Partial<Checkpoint>[] = [{ is_savepoint: true }, { pinned: true }, { damage: 'a file is gone' }, { discarded_at: '2026-01-01T00:00:00Z' }, { trigger: 'import' }];
    for (const more of said) {
      const shown = named(folded(lineageOf([run(1)], taken(1, 1, 60, (number) => (number === 30 ? more : {}))), NONE));
      expect(shown).toContain('30');
      // Above it ten are shown and one below; below it the same.
      expect(shown.filter((name) => name.includes(':'))).toEqual(['18: 49-32', '18: 19-2']);
    }
  });

  it('never hides where something branches off, nor that something below is not kept', () => {
    const back = folded(lineageOf([run(1), run(2, 30)], [...taken(1, 1, 60), ...taken(2, 61, 62)]), NONE);
    expect(named(back)).toContain('30');
    expect(joined(back)).toContain('30 > 31');
    expect(joined(back)).toContain('30 > restore');
    const gap = folded(lineageOf([run(1)], [...taken(1, 1, 20), ...taken(1, 31, 60)]), NONE);
    expect(named(gap)).toContain('31');
  });

  it('leaves a short one as it is', () => {
    const lineage = lineageOf([run(1)], taken(1, 1, 16));
    expect(folded(lineage, NONE)).toEqual(lineage);
  });
});

function numbers(from: number, to: number): string[] {
  return Array.from({ length: from - to + 1 }, (_, index) => String(from - index));
}
