/**
 * A long list of which some rows change in each frame: so hundreds of them are drawn, and drawn anew, without a pause of the page. Pure; for
 * React see useGradual.ts.
 */
export interface Gradual<Row> {
  /** What was asked for last, and the same with rows as they are shown already where nothing of them has changed. */
  asked: readonly Row[];
  wanted: readonly Row[];
  /** Some rows as they are wanted, others still as they were before. Never longer than what is wanted, and without holes. */
  shown: readonly Row[];
  /** Where it goes on, at most at the end of what is shown; and how many rows have not been looked at yet. */
  at: number;
  left: number;
}

export function nothing<Row>(): Gradual<Row> {
  return { asked: [], wanted: [], shown: [], at: 0, left: 0 };
}

/**
 * Something else is asked for from now on. It goes on where it is, and round: however often that happens, each row has its turn. `same`: nothing
 * that is seen of a row has changed.
 */
export function towards<Row>(before: Gradual<Row>, asked: readonly Row[], same: (one: Row, other: Row) => boolean = Object.is): Gradual<Row> {
  const wanted = asked.map((row, place) => (place < before.shown.length && same(before.shown[place]!, row) ? before.shown[place]! : row));
  const shown = before.shown.slice(0, wanted.length);
  return { asked, wanted, shown, at: before.at < wanted.length ? before.at : 0, left: wanted.length };
}

/** With up to `atOnce` rows more that are new. What is the same as before costs nothing, and does not count. */
export function further<Row>({ asked, wanted, shown: before, at: from, left: rest }: Gradual<Row>, atOnce: number): Gradual<Row> {
  const shown = before.slice();
  let [at, left] = [from, rest];
  for (let turns = atOnce; left > 0; left -= 1) {
    const known = at < shown.length && shown[at] === wanted[at];
    if (!known && turns === 0) break;
    if (!known) {
      turns -= 1;
      shown[at] = wanted[at]!;
    }
    at = (at + 1) % wanted.length;
  }
  return { asked, wanted, shown: left === 0 ? wanted : shown, at, left };
}

export const isDone = ({ left }: Gradual<unknown>): boolean => left === 0;
