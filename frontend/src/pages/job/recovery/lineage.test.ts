import { describe, expect, it } from 'vitest';

import { edgePath, ROW_HEIGHT, widthOf, xOf } from './geometry';
import { beganAt, lineageOf, wentBackTo, type Checkpoint, type Lineage, type Run } from './lineage';

/** Run `number` has the id 100 + number. */
function run(number: number, from: number | null = null, ran = true): Run {
  return { id: 100 + number, number, start: from === null ? { mode: 'resume' } : { mode: 'from', checkpoint: from }, running_at: ran ? '2026-01-01T00:00:00Z' : null } as unknown as Run;
}
const begun = (number: number, start: Run['start'], ran = true): Run => ({ ...run(number, null, ran), start });
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
  it('is one line if nobody ever went back, however often the job was restarted', () => {
    const found = lineageOf([run(2), run(1)], [...taken(2, 4, 3), ...taken(1, 2, 1)]);
    expect(named(found)).toEqual(['0 4', '0 3', '0 2', '0 1', '0 beginning 1']);
    expect(joined(found)).toEqual(['1-2', '2-3', '3-4', 'r1-1']);
    expect(found.newest).toBe(4);
  });

  it('puts beside the line what was left behind by going back', () => {
    const found = lineageOf([run(1), run(2, 1)], [...taken(1, 1, 2, 3), ...taken(2, 4)]);
    expect(named(found)).toEqual(['0 4', '0 restore 2', '1! 3', '1! 2', '0 1', '0 beginning 1']);
    expect(joined(found)).toEqual(['1-2', '1-r2', '2-3', 'r1-1', 'r2-4']);
    expect([...found.branchPoints]).toEqual([1]);
    expect(found.newest).toBe(4);
  });

  it('shows what was left behind on the line again once that is undone', () => {
    const found = lineageOf([run(1), run(2, 1), run(3, 3)], [...taken(1, 1, 2, 3), ...taken(2, 4), ...taken(3, 5)]);
    expect(named(found)).toEqual(['0 5', '0 restore 3', '1! 4', '1! restore 2', '0 3', '0 2', '0 1', '0 beginning 1']);
    expect([...found.branchPoints]).toEqual([1]);
  });

  it('gives pieces that lie beside each other lanes of their own, and lanes that are free again to others', () => {
    const back = lineageOf([run(1), run(2, 1), run(3, 1)], [...taken(1, 1, 2), ...taken(2, 3), ...taken(3, 4)]);
    // The second piece branches off below the first one, so it passes it.
    expect(named(back)).toEqual(['0 4', '0 restore 3', '2! 3', '2! restore 2', '1! 2', '0 1', '0 beginning 1']);
    expect(back.lanes).toBe(3);
    const later = lineageOf([run(1), run(2, 1), run(3, 3)], [...taken(1, 1, 2), ...taken(2, 3, 4), ...taken(3, 5)]);
    expect(named(later)).toEqual(['0 5', '0 restore 3', '1! 4', '0 3', '0 restore 2', '1! 2', '0 1', '0 beginning 1']);
    expect(later.lanes).toBe(2);
  });

  it('keeps in its lane what goes on from the tip of a piece that was left behind', () => {
    const found = lineageOf([run(1), run(2, 1), run(3, 3), run(4, 1)], [...taken(1, 1), ...taken(2, 3), ...taken(3, 4), ...taken(4, 5)]);
    expect(named(found)).toEqual(['0 5', '0 restore 4', '1! 4', '1! restore 3', '1! 3', '1! restore 2', '0 1', '0 beginning 1']);
  });

  it('takes a second try of the same restore for the same branch, and says of one that never came up that it did not', () => {
    const found = lineageOf([run(1), run(2, 1, false), run(3, 1)], [...taken(1, 1, 2), ...taken(3, 4)]);
    expect(found.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
    const failed = lineageOf([run(1), run(2, 1, false), run(3, 2)], [...taken(1, 1, 2)]);
    expect(failed.rows.map((row) => row.kind === 'restore' && row.ran)).toEqual([true, false, false, false, false]);
    expect(named(failed)).toEqual(['0 restore 3', '1! restore 2', '0 2', '0 1', '0 beginning 1']);
  });

  it.each([['with nothing', ANEW], ['with a copy from elsewhere', ELSEWHERE]])('leaves all behind that was before a run that began %s', (_, start) => {
    const found = lineageOf([run(1), begun(2, start)], [...taken(1, 1, 2), ...taken(2, 3, 4)]);
    expect(named(found)).toEqual(['0 4', '0 3', '0 restore 2', '1! 2', '1! 1', '1! beginning 1']);
    expect(joined(found)).toEqual(['1-2', '3-4', 'r1-1', 'r2-3']);
    expect(found.newest).toBe(4);
    expect(found.branchPoints.size).toBe(0);
    const undone = lineageOf([run(1), begun(2, start), run(3, 2)], [...taken(1, 1, 2), ...taken(2, 3), ...taken(3, 4)]);
    expect(named(undone)).toEqual(['0 4', '0 restore 3', '1! 3', '1! restore 2', '0 2', '0 1', '0 beginning 1']);
    const tried = lineageOf([run(1), begun(2, start, false), begun(3, start)], [...taken(1, 1), ...taken(3, 2)]);
    expect(tried.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(1);
  });

  it('tells beginnings from each other', () => {
    expect([run(2), run(2, 7), begun(2, ANEW), begun(2, ELSEWHERE), begun(2, { mode: 'path', path: 's3://a/b#c' })].map(beganAt)).toEqual([
      null, { at: 'checkpoint', number: 7 }, { at: 'nothing' }, { at: 'elsewhere', path: '/srv/checkpoints/flights', number: 12 }, { at: 'elsewhere', path: 's3://a/b#c', number: null },
    ]);
    expect([run(2, 7), begun(2, ANEW), begun(2, ELSEWHERE)].map(wentBackTo)).toEqual([7, null, null]);
    const apart = lineageOf([run(1), begun(2, ELSEWHERE, false), begun(3, ANEW, false), begun(4, { ...ELSEWHERE, path: '/srv/other' })], taken(1, 1));
    expect(apart.rows.filter(({ kind }) => kind === 'restore')).toHaveLength(3);
  });

  it('says which numbers are not kept between those that are', () => {
    const found = lineageOf([run(1)], taken(1, 3, 7, 8));
    expect(found.rows.map((row) => (row.kind === 'checkpoint' ? row.gone : 'no checkpoint'))).toEqual([null, [4, 6], [1, 2], 'no checkpoint']);
    expect(joined(found)).toEqual(['3..7', '7-8', 'r1..3']);
  });

  it('stands by itself where what it goes back to is not known any more', () => {
    const found = lineageOf([run(7, 90), run(8)], taken(8, 95));
    expect(named(found)).toEqual(['0 95', '0 restore 7']);
    expect(lineageOf([], [])).toEqual({ rows: [], edges: [], lanes: 1, newest: null, branchPoints: new Set() });
  });

  it('never draws two pieces over each other, whatever was gone back to', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      let luck = seed;
      const next = (most: number): number => (luck = (luck * 48_271) % 2_147_483_647) % most;
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
        // From its own row down to the one that it goes on from nobody else is in the lane.
        for (let between = to + 1; between < from; between += 1) expect(rows[between]!.lane === rows[to]!.lane && `${seed}: ${rows[between]!.key} is in the way of ${rows[to]!.key}`).toBe(false);
      }
    }
  });
});

describe('its drawing', () => {
  it('goes straight up within a lane, and bends at once into another', () => {
    expect(edgePath({ row: 3, lane: 0 }, { row: 1, lane: 0 })).toBe(`M${xOf(0)} ${3.5 * ROW_HEIGHT}V${1.5 * ROW_HEIGHT}`);
    expect(edgePath({ row: 3, lane: 0 }, { row: 1, lane: 1 })).toMatch(new RegExp(`^M${xOf(0)} .* ${xOf(1)} ${2.5 * ROW_HEIGHT}V${1.5 * ROW_HEIGHT}$`));
  });

  it('leaves room for the text, however many branches there are', () => {
    expect(widthOf(40)).toBe(widthOf(8));
  });
});
