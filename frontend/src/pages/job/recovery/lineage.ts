/**
 * The tree of a job's checkpoints: each restore begins a branch. Pure: what the API lists in, rows and lanes out.
 *
 * Rows are the newest first. What the job would go on from is one straight line in lane 0; what was left behind is beside it, each piece in the
 * first lane that is free from its newest row down to where it branched off.
 */
import type { Schemas } from '../../../api/types';

export type Checkpoint = Schemas['CheckpointBody'];
export type Run = Schemas['RunBody'];

interface Place {
  key: string;
  lane: number;
  /** On the line that the job goes on with. */
  current: boolean;
}
/** Where a run began that did not go on from what was the newest: at a checkpoint of the job, with a copy from elsewhere, or with nothing. */
export type Began = { at: 'checkpoint'; number: number } | { at: 'elsewhere'; path: string; number: number | null } | { at: 'nothing' };
export type Row = Place &
  (
    | { kind: 'checkpoint'; checkpoint: Checkpoint; /** Numbers between it and the one below that are not kept. */ gone: readonly [first: number, last: number] | null }
    | { kind: 'restore'; began: Began; run: Run; /** Of the runs that tried it. */ ran: boolean }
    | { kind: 'beginning'; run: Run }
  );
/** Between rows, by their index. `from` is the older one. Broken where something between them is not kept. */
export interface Edge {
  from: number;
  to: number;
  current: boolean;
  broken: boolean;
}
export interface Lineage {
  rows: readonly Row[];
  edges: readonly Edge[];
  lanes: number;
  /** Number of the newest checkpoint of the current line; null: there is none. */
  newest: number | null;
  /** Checkpoints at which something branches off that was left behind and is kept. */
  branchPoints: ReadonlySet<number>;
}

interface Line {
  /** Null: it is the first that is known. */
  began: Began | null;
  runs: Run[];
  checkpoints: Checkpoint[];
}

/** `checkpoints`: completed ones, those that are kept and those that runs went back to. */
export function lineageOf(runs: readonly Run[], checkpoints: readonly Checkpoint[]): Lineage {
  const lines = linesOf(runs, checkpoints);
  const onLine = current(lines);
  const drafts = rowsOf(lines, onLine);
  const at = new Map(drafts.map(({ row }, index) => [row.key, index]));
  const edges: Edge[] = drafts.flatMap(({ row, before, broken }, to) => {
    const from = before === null ? undefined : at.get(before);
    return from === undefined ? [] : [{ from, to, current: row.current, broken }];
  });
  const lanes = intoLanes(drafts, edges);
  const left = edges.filter(({ from, to }) => drafts[from]!.row.current && !drafts[to]!.row.current);
  const branchPoints = left.map(({ from }) => drafts[from]!.row).filter((row) => row.kind === 'checkpoint').map(({ checkpoint }) => checkpoint.number);
  const newest = drafts.map(({ row }) => row).find((row) => row.current && row.kind === 'checkpoint');
  return {
    rows: drafts.map(({ row }) => row),
    edges,
    lanes,
    newest: newest?.kind === 'checkpoint' ? newest.checkpoint.number : null,
    branchPoints: new Set(branchPoints),
  };
}

/** Null: it went on from what was the newest. */
export function beganAt({ start: { mode, checkpoint, path } }: Pick<Run, 'start'>): Began | null {
  if (mode === 'path' && typeof path === 'string') {
    const [, place, number] = /^(.*?)(?:#(\d+))?$/s.exec(path)!;
    return { at: 'elsewhere', path: place!, number: number === undefined ? null : Number(number) };
  }
  if (mode !== 'from' || typeof checkpoint !== 'number') return null;
  return checkpoint === 0 ? { at: 'nothing' } : { at: 'checkpoint', number: checkpoint };
}

/** Of this job. */
export function wentBackTo(run: Pick<Run, 'start'>): number | null {
  return numberOf(beganAt(run));
}

const numberOf = (began: Began | null): number | null => (began?.at === 'checkpoint' ? began.number : null);

function isSame(one: Began, other: Began | null): boolean {
  if (one.at === 'elsewhere') return other?.at === 'elsewhere' && one.path === other.path && one.number === other.number;
  return one.at === other?.at && numberOf(one) === numberOf(other);
}

/** A restart goes on from where the run before was; only who goes back begins another line. */
function linesOf(runs: readonly Run[], checkpoints: readonly Checkpoint[]): Line[] {
  const lines: Line[] = [];
  const lineOf = new Map<number, Line>();
  for (const run of [...runs].sort((a, b) => a.number - b.number)) {
    const began = beganAt(run);
    const last = lines.at(-1);
    // A second try of the same restore.
    const again = began !== null && last !== undefined && isSame(began, last.began) && last.runs.every(({ running_at }) => running_at === null);
    if (last === undefined || (began !== null && !again)) lines.push({ began, runs: [run], checkpoints: [] });
    else last.runs.push(run);
    lineOf.set(run.id, lines.at(-1)!);
  }
  for (const one of [...checkpoints].sort((a, b) => a.number - b.number)) {
    // Of a run that is not listed any more: it was before all that are.
    (lineOf.get(one.run_id) ?? lines[0])?.checkpoints.push(one);
  }
  return lines;
}

/** From the newest line down to the beginning: of each that it goes back to, only what was before that. */
function current(lines: readonly Line[]): Set<Line | number> {
  const found = new Set<Line | number>();
  let line = lines.at(-1);
  let upTo = Infinity;
  while (line !== undefined && !found.has(line)) {
    found.add(line);
    for (const { number } of line.checkpoints) if (number <= upTo) found.add(number);
    upTo = numberOf(line.began) ?? -Infinity;
    line = lines.find(({ checkpoints }) => checkpoints.some(({ number }) => number === upTo));
  }
  return found;
}

interface Draft {
  row: Row;
  /** Key of the row that it goes on from. */
  before: string | null;
  broken: boolean;
  order: readonly number[];
}

const keyOf = (checkpoint: number): string => `checkpoint-${checkpoint}`;

function rowsOf(lines: readonly Line[], onLine: ReadonlySet<Line | number>): Draft[] {
  const numbers = new Map(lines.flatMap(({ runs }) => runs.map(({ id, number }) => [id, number])));
  const drafts: Draft[] = [];
  for (const line of lines) {
    const [first] = line.runs as [Run];
    const begin = `run-${first.number}`;
    const place = { key: begin, lane: 0, current: onLine.has(line) };
    // Of runs that are not listed any more there may be checkpoints: they stand above where the list begins.
    const order = [line === lines[0] ? 0 : first.number, 0, 0];
    const { began } = line;
    if (began !== null) {
      const ran = line.runs.some(({ running_at }) => running_at !== null);
      drafts.push({ row: { ...place, kind: 'restore', began, run: first, ran }, before: began.at === 'checkpoint' ? keyOf(began.number) : null, broken: false, order });
    } else drafts.push({ row: { ...place, kind: 'beginning', run: first }, before: null, broken: false, order });
    let before: string = begin;
    let last: number | null = began === null && first.number === 1 ? 0 : null;
    for (const checkpoint of line.checkpoints) {
      const { number, run_id } = checkpoint;
      const gone = last !== null && number - last > 1 ? ([last + 1, number - 1] as const) : null;
      drafts.push({
        row: { key: keyOf(number), lane: 0, current: onLine.has(number), kind: 'checkpoint', checkpoint, gone },
        before, broken: gone !== null, order: [numbers.get(run_id) ?? 0, 1, number],
      });
      before = keyOf(number);
      last = number;
    }
  }
  return drafts.sort((a, b) => compare(b.order, a.order));
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

/** How many lanes there are. What was left behind lies in pieces: rows that go on from each other. */
function intoLanes(drafts: readonly Draft[], edges: readonly Edge[]): number {
  const below = new Map(edges.map(({ from, to }) => [to, from]));
  /** Of each lane what lies in it. Pieces come the oldest first. */
  const taken: { top: number; bottom: number }[][] = [[]];
  const pieceOf = new Map<number, { lane: number; top: number; bottom: number }>();
  for (let index = drafts.length - 1; index >= 0; index -= 1) {
    if (drafts[index]!.row.current) continue;
    const from = below.get(index);
    const piece = from === undefined ? undefined : pieceOf.get(from);
    // Only the first that goes on from a row stays in its lane.
    if (piece && piece.top === from) {
      piece.top = index;
      pieceOf.set(index, piece);
      continue;
    }
    pieceOf.set(index, { lane: 0, top: index, bottom: (from ?? index + 1) - 1 });
  }
  for (const piece of new Set([...pieceOf.values()])) {
    let lane = 1;
    while (taken[lane]?.some(({ top, bottom }) => piece.top <= bottom && top <= piece.bottom)) lane += 1;
    (taken[lane] ??= []).push(piece);
    piece.lane = lane;
  }
  for (const [index, { lane }] of pieceOf) drafts[index]!.row.lane = lane;
  return taken.length;
}
