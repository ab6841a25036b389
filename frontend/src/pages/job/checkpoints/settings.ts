/** How checkpoints are taken, by the body of a spec. Pure. */
interface Checkpointing {
  interval?: string;
  timeout?: string;
  min_pause?: string;
  tolerable_failed_checkpoints?: number | null;
  retained?: number;
  directory?: string | null;
  staging_directory?: string | null;
}

export function settings(body: Record<string, unknown>): [name: string, value: string][] {
  const { interval, retained, directory, staging_directory } = (body.checkpointing ?? {}) as Checkpointing;
  return [
    ['Mode', 'exactly once, one checkpoint at a time; they go on after the end of an input'],
    ['Interval', interval === 'none' ? 'none: only when somebody asks for one, and when the job is stopped' : interval ? `${interval}` : ''],
    ...limits(body),
    ['Retained', retained === undefined ? '' : `the newest ${retained}, and what is pinned, a savepoint, or still needed`],
    ['Directory', directory ?? "one of this installation's own"],
    ['Staging directory', staging_directory ?? 'none'],
    ['Alignment', 'aligned: what comes after a barrier waits until all inputs have delivered theirs'],
    ['Restored state', body.allow_non_restored_state === true ? 'state that nothing takes is left behind' : 'state that nothing takes is refused'],
  ];
}

/** What a checkpoint may take, and what becomes of the job if it takes more. */
export function limits(body: Record<string, unknown>): [name: string, value: string][] {
  const { timeout, min_pause, tolerable_failed_checkpoints: tolerable } = (body.checkpointing ?? {}) as Checkpointing;
  return [
    ['Checkpoint timeout', timeout ? `${timeout}: one that takes longer has failed` : ''],
    ['Minimum pause', min_pause === undefined ? '' : /^[0.]+[a-z]+$/.test(min_pause) ? 'none' : `${min_pause} from the end of one to the beginning of the next`],
    ['Tolerable failed checkpoints', tolerable === undefined ? '' : tolerable === null ? 'any number' : `${tolerable} in a row; after one more the job recovers as from a failure`],
  ];
}
