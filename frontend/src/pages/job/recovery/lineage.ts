/**
 * Turns lists of runs and checkpoints into the rows and lanes of the lineage tree. Each restore starts a branch. Pure.
 *
 * Rows are ordered newest first. The current branch is a straight line in lane 0. Abandoned branches are in lanes 1 and higher. An abandoned branch
 * occupies its lane from its newest row down to its branch point. Each abandoned branch gets the lowest free lane.
 */
import type { Schemas } from '../../../api/types';
import { toMs } from '../../../format';

export type Checkpoint = Schemas['CheckpointRead'];
export type Run = Schemas['RunRead'];

interface RowBase {
  key: string;
  lane: number;
  /** Whether the row is on the current branch. */
  current: boolean;
}
/** The origin of a run that did not resume from the newest checkpoint: a checkpoint of the job, an external checkpoint, or no state. */
export type RestoreOrigin = { at: 'checkpoint'; number: number } | { at: 'external'; path: string; number: number | null } | { at: 'none' };
export type Row = RowBase &
  (
    | { kind: 'checkpoint'; checkpoint: Checkpoint; /** The numbers of deleted checkpoints between this checkpoint and the row below it. */ deleted: readonly [first: number, last: number] | null }
    | { kind: 'restore'; began: RestoreOrigin; run: Run; /** Whether at least one run that tried this restore has reached the state RUNNING. */ ran: boolean }
    | { kind: 'beginning'; run: Run }
  );
/** An edge between two rows. `from`: the index of the older row. `broken`: whether checkpoints between the two rows are deleted. */
export interface LineageEdge {
  from: number;
  to: number;
  current: boolean;
  broken: boolean;
}
export interface Lineage {
  rows: readonly Row[];
  edges: readonly LineageEdge[];
  lanes: number;
  /** The number of the newest checkpoint of the current branch. */
  newest: number | null;
  /** The numbers of checkpoints at which an abandoned branch starts. */
  branchPoints: ReadonlySet<number>;
}

interface Branch {
  /**
   * The origin of the first run of the branch, or null if the first run resumed from the newest checkpoint. Only the first listed branch can begin
   * with a resumed run, because all other branches begin with a restore.
   */
  began: RestoreOrigin | null;
  runs: Run[];
  checkpoints: Checkpoint[];
}

/** Return the lineage of a job. `checkpoints`: all completed checkpoints, including deleted checkpoints to which runs have rolled back. */
export function lineageOf(runs: readonly Run[], checkpoints: readonly Checkpoint[]): Lineage {
  const branches = groupRuns(runs, checkpoints);
  const onCurrent = currentHistory(branches);
  const drafts = rowsOf(branches, onCurrent);
  const at = new Map(drafts.map(({ row }, index) => [row.key, index]));
  const edges: LineageEdge[] = drafts.flatMap(({ row, before, broken }, to) => {
    const from = before === null ? undefined : at.get(before);
    return from === undefined ? [] : [{ from, to, current: row.current, broken }];
  });
  const lanes = assignLanes(drafts, edges);
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

/** Return the origin of a run, or null if the run resumed from the newest checkpoint. */
export function restoreOrigin({ start: { mode, checkpoint, path } }: Pick<Run, 'start'>): RestoreOrigin | null {
  if (mode === 'path' && typeof path === 'string') {
    const [, base, number] = /^(.*?)(?:#(\d+))?$/s.exec(path)!;
    return { at: 'external', path: base!, number: number === undefined ? null : Number(number) };
  }
  if (mode !== 'from' || typeof checkpoint !== 'number') return null;
  return checkpoint === 0 ? { at: 'none' } : { at: 'checkpoint', number: checkpoint };
}

/** Return the number of the checkpoint to which a run rolled back, or null if the run did not roll back. */
export function rolledBackTo(run: Pick<Run, 'start'>): number | null {
  return numberOf(restoreOrigin(run));
}

const numberOf = (began: RestoreOrigin | null): number | null => (began?.at === 'checkpoint' ? began.number : null);

function isSame(one: RestoreOrigin, other: RestoreOrigin | null): boolean {
  if (one.at === 'external') return other?.at === 'external' && one.path === other.path && one.number === other.number;
  return one.at === other?.at && numberOf(one) === numberOf(other);
}

/** Group runs into branches. A restart continues the branch of the previous run. A restore starts a new branch. */
function groupRuns(runs: readonly Run[], checkpoints: readonly Checkpoint[]): Branch[] {
  const branches: Branch[] = [];
  const branchOfRun = new Map<number, Branch>();
  for (const run of [...runs].sort((a, b) => a.number - b.number)) {
    const began = restoreOrigin(run);
    const last = branches.at(-1);
    // Whether this run retries the restore of the previous run.
    const again = began !== null && last !== undefined && isSame(began, last.began) && last.runs.every(({ running_at }) => running_at === null);
    if (last === undefined || (began !== null && !again)) branches.push({ began, runs: [run], checkpoints: [] });
    else last.runs.push(run);
    branchOfRun.set(run.id, branches.at(-1)!);
  }
  for (const one of [...checkpoints].sort((a, b) => a.number - b.number)) {
    // If the run of a checkpoint is not listed, the checkpoint is older than all listed runs and belongs to the first branch.
    (branchOfRun.get(one.run_id) ?? branches[0])?.checkpoints.push(one);
  }
  return branches;
}

/**
 * Return the branches from which the current state descends, and the numbers of their checkpoints. The result omits checkpoints that a rollback left
 * behind.
 */
function currentHistory(branches: readonly Branch[]): Set<Branch | number> {
  const found = new Set<Branch | number>();
  let branch = branches.at(-1);
  let upTo = Infinity;
  while (branch !== undefined && !found.has(branch)) {
    found.add(branch);
    for (const { number } of branch.checkpoints) if (number <= upTo) found.add(number);
    upTo = numberOf(branch.began) ?? -Infinity;
    branch = branches.find(({ checkpoints }) => checkpoints.some(({ number }) => number === upTo));
  }
  return found;
}

interface Draft {
  row: Row;
  /** The key of the older row to which this row is connected. */
  before: string | null;
  broken: boolean;
  order: readonly number[];
}

const keyOf = (checkpoint: number): string => `checkpoint-${checkpoint}`;

function rowsOf(branches: readonly Branch[], onCurrent: ReadonlySet<Branch | number>): Draft[] {
  const numbers = new Map(branches.flatMap(({ runs }) => runs.map(({ id, number }) => [id, number])));
  const drafts: Draft[] = [];
  for (const branch of branches) {
    const [first] = branch.runs as [Run];
    const begin = `run-${first.number}`;
    const base = { key: begin, lane: 0, current: onCurrent.has(branch) };
    // The row for the start of the first branch gets run number 0, so that checkpoints of unlisted runs are displayed above this row.
    const order = [branch === branches[0] ? 0 : first.number, 0, 0];
    const { began } = branch;
    if (began !== null) {
      const ran = branch.runs.some(({ running_at }) => running_at !== null);
      drafts.push({ row: { ...base, kind: 'restore', began, run: first, ran }, before: began.at === 'checkpoint' ? keyOf(began.number) : null, broken: false, order });
    } else drafts.push({ row: { ...base, kind: 'beginning', run: first }, before: null, broken: false, order });
    let before: string = begin;
    let last: number | null = began === null && first.number === 1 ? 0 : null;
    for (const checkpoint of branch.checkpoints) {
      const { number, run_id } = checkpoint;
      const deleted = last !== null && number - last > 1 ? ([last + 1, number - 1] as const) : null;
      drafts.push({
        row: { key: keyOf(number), lane: 0, current: onCurrent.has(number), kind: 'checkpoint', checkpoint, deleted },
        before, broken: deleted !== null, order: [numbers.get(run_id) ?? 0, 1, number],
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

/** Assign lanes to the pieces of abandoned branches, and return the number of lanes. */
function assignLanes(drafts: readonly Draft[], edges: readonly LineageEdge[]): number {
  const below = new Map(edges.map(({ from, to }) => [to, from]));
  /** Occupied ranges by lane. A piece is a part of an abandoned branch that is drawn in one lane. Pieces are ordered oldest first. */
  const taken: { top: number; bottom: number }[][] = [[]];
  const pieceOf = new Map<number, { lane: number; top: number; bottom: number }>();
  for (let index = drafts.length - 1; index >= 0; index -= 1) {
    if (drafts[index]!.row.current) continue;
    const from = below.get(index);
    const piece = from === undefined ? undefined : pieceOf.get(from);
    // Several rows can follow the top row of a piece. The oldest of these rows extends the piece, and each other row starts a new piece.
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

type Plan = Schemas['PlanRead'];

/**
 * Return the plan that started a run. The plan and the run have the same restore origin, and the run was created while the plan was being applied.
 */
export function planOfRun({ created_at }: Pick<Run, 'created_at'>, began: RestoreOrigin, plans: readonly Plan[]): Plan | null {
  const createdMs = toMs(created_at)!;
  const matches = plans.filter(({ preview, approved_at, ended_at }) => {
    const [approved, ended] = [toMs(approved_at), toMs(ended_at)];
    return matchesOrigin(preview, began) && approved !== null && approved <= createdMs && (ended === null || createdMs <= ended);
  });
  return matches.sort((a, b) => b.id! - a.id!)[0] ?? null;
}

function matchesOrigin({ checkpoint, path, without_state }: Plan['preview'], began: RestoreOrigin): boolean {
  switch (began.at) {
    case 'checkpoint':
      return checkpoint === began.number;
    case 'external':
      return path === began.path;
    case 'none':
      return without_state === true;
  }
}
