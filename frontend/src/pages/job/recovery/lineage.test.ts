import { describe, expect, it } from 'vitest';

import { lineageOf, restoreOrigin, rolledBackTo, type Checkpoint, type Lineage, type Run } from './lineage';
import { edgePath, ROW_HEIGHT, widthOf, xOf } from './LineageTree';

/** Run `number` has the id 100 + number. */
function run(number: number, from: number | null = null, ran = true): Run {
  return { id: 100 + number, number, start: from === null ? { mode: 'resume' } : { mode: 'from', checkpoint: from }, running_at: ran ? '2026-01-01T00:00:00Z' : null } as unknown as Run;
}
const started = (number: number, start: Run['start'], ran = true): Run => ({ ...run(number, null, ran), start });
const ANEW = { mode: 'from', checkpoint: 0 };
const ELSEWHERE = { mode: 'path', path: '/srv/checkpoints/flights#12' };
function taken(runNumber: number, ...numbers: number[]): Checkpoint[] {
  return numbers.map((number) => ({ id: number, number, run_id: 100 + runNumber, state: 'COMPLETED' }) as unknown as Checkpoint);
}
const named = ({ rows }: Lineage): string[] =>
  rows.map((row) => `${row.lane}${row.current ? '' : '!'} ${row.kind === 'checkpoint' ? row.checkpoint.number : `${row.kind} ${row.run.number}`}`);
const joined = ({ rows, edges }: Lineage): string[] => {
  const name = (at: number): string => rows[at]!.key.replace('checkpoint-', '').replace('run-', 'r');
  return edges.map(({ from, to, broken }) => `${name(from)}${broken ? '..' : '-'}${name(to)}`).sort();
};

describe('the lineage of checkpoints', () => {
  it('is one branch without restores, however often the job restarted', () => {
    const found = lineageOf([run(2), run(1)], [...taken(2, 4, 3), ...taken(1, 2, 1)]);
    expect(named(found)).toEqual(['0 4', '0 3', '0 2', '0 1', '0 beginning 1']);
    expect(joined(found)).toEqual(['1-2', '2-3', '3-4', 'r1-1']);
    expect(found.newest).toBe(4);
  });

  it('puts an abandoned branch beside the current one', () => {
    const found = lineageOf([run(1), run(2, 1)], [...taken(1, 1, 2, 3), ...taken(2, 4)]);
    expect(named(found)).toEqual(['0 4', '0 restore 2', '1! 3', '1! 2', '0 1', '0 beginning 1']);
    expect(joined(found)).toEqual(['1-2', '1-r2', '2-3', 'r1-1', 'r2-4']);
    expect([...found.branchPoints]).toEqual([1]);
    expect(found.newest).toBe(4);
  });

  it('returns an abandoned branch to lane 0 after an undo', () => {
    const found = lineageOf([run(1), run(2, 1), run(3, 3)], [...taken(1, 1, 2, 3), ...taken(2, 4), ...taken(3, 5)]);
    expect(named(found)).toEqual(['0 5', '0 restore 3', '1! 4', '1! restore 2', '0 3', '0 2', '0 1', '0 beginning 1']);
    expect([...found.branchPoints]).toEqual([1]);
  });

  it('gives adjacent pieces different lanes and reuses free lanes', () => {
    const back = lineageOf([run(1), run(2, 1), run(3, 1)], [...taken(1, 1, 2), ...taken(2, 3), ...taken(3, 4)]);
    // The second piece starts below the first one and passes it.
    expect(named(back)).toEqual(['0 4', '0 restore 3', '2! 3', '2! restore 2', '1! 2', '0 1', '0 beginning 1']);
    expect(back.lanes).toBe(3);
    const later = lineageOf([run(1), run(2, 1), run(3, 3)], [...taken(1, 1, 2), ...taken(2, 3, 4), ...taken(3, 5)]);
    expect(named(later)).toEqual(['0 5', '0 restore 3', '1! 4', '0 3', '0 restore 2', '1! 2', '0 1', '0 beginning 1']);
    expect(later.lanes).toBe(2);
  });

  it('keeps a branch that continues the tip of an abandoned piece in its lane', () => {
    const found = lineageOf([run(1), run(2, 1), run(3, 3), run(4, 1)], [...taken(1, 1), ...taken(2, 3), ...taken(3, 4), ...taken(4, 5)]);
    expect(named(found)).toEqual(['0 5', '0 restore 4', '1! 4', '1! restore 3', '1! 3', '1! restore 2', '0 1', '0 beginning 1']);
  });

  it('merges attempts of the same restore, and marks one that never ran', () => {
    const found = lineageOf([run(1), run(2, 1, false), run(3, 1)], [...taken(1, 1, 2), ...taken(3, 4)]);
    expect(found.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
    const failed = lineageOf([run(1), run(2, 1, false), run(3, 2)], [...taken(1, 1, 2)]);
    expect(failed.rows.map((row) => row.kind === 'restore' && row.ran)).toEqual([true, false, false, false, false]);
    expect(named(failed)).toEqual(['0 restore 3', '1! restore 2', '0 2', '0 1', '0 beginning 1']);
  });

  it.each([['without state', ANEW], ['with a copy from a path', ELSEWHERE]])('abandons all earlier checkpoints if a run starts %s', (_, start) => {
    const found = lineageOf([run(1), started(2, start)], [...taken(1, 1, 2), ...taken(2, 3, 4)]);
    expect(named(found)).toEqual(['0 4', '0 3', '0 restore 2', '1! 2', '1! 1', '1! beginning 1']);
    expect(joined(found)).toEqual(['1-2', '3-4', 'r1-1', 'r2-3']);
    expect(found.newest).toBe(4);
    expect(found.branchPoints.size).toBe(0);
    const undone = lineageOf([run(1), started(2, start), run(3, 2)], [...taken(1, 1, 2), ...taken(2, 3), ...taken(3, 4)]);
    expect(named(undone)).toEqual(['0 4', '0 restore 3', '1! 3', '1! restore 2', '0 2', '0 1', '0 beginning 1']);
    const tried = lineageOf([run(1), started(2, start, false), started(3, start)], [...taken(1, 1), ...taken(3, 2)]);
    expect(tried.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
  });

  it('parses the origin of a run', () => {
    expect([run(2), run(2, 7), started(2, ANEW), started(2, ELSEWHERE), started(2, { mode: 'path', path: 's3://a/b#c' })].map(restoreOrigin)).toEqual([
      null, { at: 'checkpoint', number: 7 }, { at: 'none' }, { at: 'external', path: '/srv/checkpoints/flights', number: 12 }, { at: 'external', path: 's3://a/b#c', number: null },
    ]);
    expect([run(2, 7), started(2, ANEW), started(2, ELSEWHERE)].map(rolledBackTo)).toEqual([7, null, null]);
    const apart = lineageOf([run(1), started(2, ELSEWHERE, false), started(3, ANEW, false), started(4, { ...ELSEWHERE, path: '/srv/other' })], taken(1, 1));
    expect(apart.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(3);
  });

  it('lists deleted numbers between stored checkpoints', () => {
    const found = lineageOf([run(1)], taken(1, 3, 7, 8));
    expect(found.rows.map((row) => (row.kind === 'checkpoint' ? row.deleted : 'no checkpoint'))).toEqual([null, [4, 6], [1, 2], 'no checkpoint']);
    expect(joined(found)).toEqual(['3..7', '7-8', 'r1..3']);
  });

  it('is disconnected if its origin is not listed', () => {
    const found = lineageOf([run(7, 90), run(8)], taken(8, 95));
    expect(named(found)).toEqual(['0 95', '0 restore 7']);
    expect(lineageOf([], [])).toEqual({ rows: [], edges: [], lanes: 1, newest: null, branchPoints: new Set() });
  });

  it('never overlaps two pieces in a lane', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      let state = seed;
      const next = (most: number): number => (state = (state * 48_271) % 2_147_483_647) % most;
      const runs = [run(1)];
      let number = 3;
      const all = taken(1, 1, 2, 3);
      for (let at = 2; at < 9; at += 1) {
        runs.push(run(at, next(4) === 0 ? null : next(number + 1), next(5) > 0));
        const more = Array.from({ length: next(4) }, () => (number += 1));
        all.push(...taken(at, ...more));
      }
      const { rows, edges } = lineageOf(runs, all);
      expect(rows.filter(({ kind }) => kind === 'checkpoint')).toHaveLength(all.length);
      for (const { from, to } of edges) {
        expect(from).toBeGreaterThan(to);
        // Its lane is free between a row and the row that it continues.
        for (let between = to + 1; between < from; between += 1) expect(rows[between]!.lane === rows[to]!.lane && `${seed}: ${rows[between]!.key} overlaps ${rows[to]!.key}`).toBe(false);
      }
    }
  });
});

describe('the geometry', () => {
  it('draws straight lines within a lane, and bends into another lane at its start', () => {
    expect(edgePath({ row: 3, lane: 0 }, { row: 1, lane: 0 })).toBe(`M${xOf(0)} ${3.5 * ROW_HEIGHT}V${1.5 * ROW_HEIGHT}`);
    expect(edgePath({ row: 3, lane: 0 }, { row: 1, lane: 1 })).toMatch(new RegExp(`^M${xOf(0)} .* ${xOf(1)} ${2.5 * ROW_HEIGHT}V${1.5 * ROW_HEIGHT}$`));
  });

  it('limits the number of lanes', () => {
    expect(widthOf(40)).toBe(widthOf(8));
  });
});
