import { describe, expect, it } from 'vitest';

import { lineageOf, restoreOrigin, rolledBackTo, type Checkpoint, type Lineage, type Run } from './lineage';
import { edgePath, ROW_HEIGHT, widthOf, xOf } from './LineageTree';

/** Create a run with the id 100 + number. */
function run(number: number, from: number | null = null, ran = true): Run {
  return { id: 100 + number, number, start: from === null ? { mode: 'resume' } : { mode: 'from', checkpoint: from }, running_at: ran ? '2026-01-01T00:00:00Z' : null } as unknown as Run;
}
const started = (number: number, start: Run['start'], ran = true): Run => ({ ...run(number, null, ran), start });
const WITHOUT_STATE = { mode: 'from', checkpoint: 0 };
const FROM_PATH = { mode: 'path', path: '/srv/checkpoints/flights#12' };
function checkpoints(runNumber: number, ...numbers: number[]): Checkpoint[] {
  return numbers.map((number) => ({ id: number, number, run_id: 100 + runNumber, state: 'COMPLETED' }) as unknown as Checkpoint);
}
const named = ({ rows }: Lineage): string[] =>
  rows.map((row) => `${row.lane}${row.current ? '' : '!'} ${row.kind === 'checkpoint' ? row.checkpoint.number : `${row.kind} ${row.run.number}`}`);
const joined = ({ rows, edges }: Lineage): string[] => {
  const name = (at: number): string => rows[at]!.key.replace('checkpoint-', '').replace('run-', 'r');
  return edges.map(({ from, to, broken }) => `${name(from)}${broken ? '..' : '-'}${name(to)}`).sort();
};

describe('the lineage of checkpoints', () => {
  it('the lineage has one branch if there was no rollback, even if the job restarted', () => {
    const found = lineageOf([run(2), run(1)], [...checkpoints(2, 4, 3), ...checkpoints(1, 2, 1)]);
    expect(named(found)).toEqual(['0 4', '0 3', '0 2', '0 1', '0 beginning 1']);
    expect(joined(found)).toEqual(['1-2', '2-3', '3-4', 'r1-1']);
    expect(found.newest).toBe(4);
  });

  it('shows an abandoned branch in a different lane than the current branch', () => {
    const found = lineageOf([run(1), run(2, 1)], [...checkpoints(1, 1, 2, 3), ...checkpoints(2, 4)]);
    expect(named(found)).toEqual(['0 4', '0 restore 2', '1! 3', '1! 2', '0 1', '0 beginning 1']);
    expect(joined(found)).toEqual(['1-2', '1-r2', '2-3', 'r1-1', 'r2-4']);
    expect([...found.branchPoints]).toEqual([1]);
    expect(found.newest).toBe(4);
  });

  it('shows an abandoned branch in lane 0 again after an undo', () => {
    const found = lineageOf([run(1), run(2, 1), run(3, 3)], [...checkpoints(1, 1, 2, 3), ...checkpoints(2, 4), ...checkpoints(3, 5)]);
    expect(named(found)).toEqual(['0 5', '0 restore 3', '1! 4', '1! restore 2', '0 3', '0 2', '0 1', '0 beginning 1']);
    expect([...found.branchPoints]).toEqual([1]);
  });

  it('shows adjacent branches in different lanes and reuses free lanes', () => {
    const back = lineageOf([run(1), run(2, 1), run(3, 1)], [...checkpoints(1, 1, 2), ...checkpoints(2, 3), ...checkpoints(3, 4)]);
    // The rows of the two abandoned branches are adjacent, so the branches need separate lanes.
    expect(named(back)).toEqual(['0 4', '0 restore 3', '2! 3', '2! restore 2', '1! 2', '0 1', '0 beginning 1']);
    expect(back.lanes).toBe(3);
    const later = lineageOf([run(1), run(2, 1), run(3, 3)], [...checkpoints(1, 1, 2), ...checkpoints(2, 3, 4), ...checkpoints(3, 5)]);
    expect(named(later)).toEqual(['0 5', '0 restore 3', '1! 4', '0 3', '0 restore 2', '1! 2', '0 1', '0 beginning 1']);
    expect(later.lanes).toBe(2);
  });

  it('if a branch starts at the end of an abandoned branch, both branches are in the same lane', () => {
    const found = lineageOf([run(1), run(2, 1), run(3, 3), run(4, 1)], [...checkpoints(1, 1), ...checkpoints(2, 3), ...checkpoints(3, 4), ...checkpoints(4, 5)]);
    expect(named(found)).toEqual(['0 5', '0 restore 4', '1! 4', '1! restore 3', '1! 3', '1! restore 2', '0 1', '0 beginning 1']);
  });

  it('shows attempts of the same restore as one row, and marks a restore that never ran', () => {
    const found = lineageOf([run(1), run(2, 1, false), run(3, 1)], [...checkpoints(1, 1, 2), ...checkpoints(3, 4)]);
    expect(found.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
    const failed = lineageOf([run(1), run(2, 1, false), run(3, 2)], [...checkpoints(1, 1, 2)]);
    expect(failed.rows.map((row) => row.kind === 'restore' && row.ran)).toEqual([true, false, false, false, false]);
    expect(named(failed)).toEqual(['0 restore 3', '1! restore 2', '0 2', '0 1', '0 beginning 1']);
  });

  it.each([['without state', WITHOUT_STATE], ['with a copy from a path', FROM_PATH]])('all earlier checkpoints are on an abandoned branch if a run starts %s', (_, start) => {
    const found = lineageOf([run(1), started(2, start)], [...checkpoints(1, 1, 2), ...checkpoints(2, 3, 4)]);
    expect(named(found)).toEqual(['0 4', '0 3', '0 restore 2', '1! 2', '1! 1', '1! beginning 1']);
    expect(joined(found)).toEqual(['1-2', '3-4', 'r1-1', 'r2-3']);
    expect(found.newest).toBe(4);
    expect(found.branchPoints.size).toBe(0);
    const undone = lineageOf([run(1), started(2, start), run(3, 2)], [...checkpoints(1, 1, 2), ...checkpoints(2, 3), ...checkpoints(3, 4)]);
    expect(named(undone)).toEqual(['0 4', '0 restore 3', '1! 3', '1! restore 2', '0 2', '0 1', '0 beginning 1']);
    const tried = lineageOf([run(1), started(2, start, false), started(3, start)], [...checkpoints(1, 1), ...checkpoints(3, 2)]);
    expect(tried.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
  });

  it('distinguishes runs that restored a checkpoint, restored from a path or started without state', () => {
    expect([run(2), run(2, 7), started(2, WITHOUT_STATE), started(2, FROM_PATH), started(2, { mode: 'path', path: 's3://a/b#c' })].map(restoreOrigin)).toEqual([
      null, { at: 'checkpoint', number: 7 }, { at: 'none' }, { at: 'external', path: '/srv/checkpoints/flights', number: 12 }, { at: 'external', path: 's3://a/b#c', number: null },
    ]);
    expect([run(2, 7), started(2, WITHOUT_STATE), started(2, FROM_PATH)].map(rolledBackTo)).toEqual([7, null, null]);
    const different = lineageOf([run(1), started(2, FROM_PATH, false), started(3, WITHOUT_STATE, false), started(4, { ...FROM_PATH, path: '/srv/other' })], checkpoints(1, 1));
    expect(different.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(3);
  });

  it('shows ranges of deleted checkpoints between stored checkpoints', () => {
    const found = lineageOf([run(1)], checkpoints(1, 3, 7, 8));
    expect(found.rows.map((row) => (row.kind === 'checkpoint' ? row.deleted : 'no checkpoint'))).toEqual([null, [4, 6], [1, 2], 'no checkpoint']);
    expect(joined(found)).toEqual(['3..7', '7-8', 'r1..3']);
  });

  it('the lineage has no edge to a restored checkpoint that is not listed', () => {
    const found = lineageOf([run(7, 90), run(8)], checkpoints(8, 95));
    expect(named(found)).toEqual(['0 95', '0 restore 7']);
    expect(lineageOf([], [])).toEqual({ rows: [], edges: [], lanes: 1, newest: null, branchPoints: new Set() });
  });

  it('branches in the same lane do not overlap', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      let state = seed;
      const next = (most: number): number => (state = (state * 48_271) % 2_147_483_647) % most;
      const runs = [run(1)];
      let number = 3;
      const all = checkpoints(1, 1, 2, 3);
      for (let at = 2; at < 9; at += 1) {
        runs.push(run(at, next(4) === 0 ? null : next(number + 1), next(5) > 0));
        const more = Array.from({ length: next(4) }, () => (number += 1));
        all.push(...checkpoints(at, ...more));
      }
      const { rows, edges } = lineageOf(runs, all);
      expect(rows.filter(({ kind }) => kind === 'checkpoint')).toHaveLength(all.length);
      for (const { from, to } of edges) {
        expect(from).toBeGreaterThan(to);
        // Between two connected rows of a lane, the lane has no other rows.
        for (let between = to + 1; between < from; between += 1) expect(rows[between]!.lane === rows[to]!.lane && `${seed}: ${rows[between]!.key} overlaps ${rows[to]!.key}`).toBe(false);
      }
    }
  });
});

describe('the drawing of the lineage', () => {
  it('an edge is straight within a lane, and starts with a curve if it leads to another lane', () => {
    expect(edgePath({ row: 3, lane: 0 }, { row: 1, lane: 0 })).toBe(`M${xOf(0)} ${3.5 * ROW_HEIGHT}V${1.5 * ROW_HEIGHT}`);
    expect(edgePath({ row: 3, lane: 0 }, { row: 1, lane: 1 })).toMatch(new RegExp(`^M${xOf(0)} .* ${xOf(1)} ${2.5 * ROW_HEIGHT}V${1.5 * ROW_HEIGHT}$`));
  });

  it('the number of lanes is limited', () => {
    expect(widthOf(40)).toBe(widthOf(8));
  });
});
