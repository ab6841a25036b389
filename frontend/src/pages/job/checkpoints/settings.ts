/** Describes the checkpoint settings of a spec body as text. Pure. */
interface Checkpointing {
  interval?: string;
  timeout?: string;
  min_pause?: string;
  tolerable_failed_checkpoints?: number | null;
  retained?: number;
  directory?: string | null;
  staging_directory?: string | null;
}

export function checkpointSettings(body: Record<string, unknown>): [name: string, value: string][] {
  const { interval, retained, directory, staging_directory } = (body.checkpointing ?? {}) as Checkpointing;
  return [
    ['Mode', 'exactly-once, with one checkpoint at a time. Checkpoints continue after an input has ended.'],
    ['Interval', interval === 'none' ? 'none (the job takes checkpoints only on request and when it stops)' : interval ? `${interval}` : ''],
    ...checkpointLimits(body),
    ['Retained', retained === undefined ? '' : `the newest ${retained}, and all savepoints, pinned checkpoints and checkpoints that plans need`],
    ['Directory', directory ?? 'managed by this installation'],
    ['Staging directory', staging_directory ?? 'none'],
    ['Alignment', 'aligned (an input that has delivered its barrier is blocked until all inputs have delivered their barriers)'],
    ['Non-restored state', body.allow_non_restored_state === true ? 'allowed (a restore drops state that has no matching operator)' : 'refused (a restore fails if some state has no matching operator)'],
  ];
}

/** Return the limits of checkpoints, each with the effect of exceeding it. */
export function checkpointLimits(body: Record<string, unknown>): [name: string, value: string][] {
  const { timeout, min_pause, tolerable_failed_checkpoints: tolerable } = (body.checkpointing ?? {}) as Checkpointing;
  return [
    ['Checkpoint timeout', timeout ? `${timeout} (a checkpoint that takes longer fails)` : ''],
    ['Minimum pause', min_pause === undefined ? '' : /^[0.]+[a-z]+$/.test(min_pause) ? 'none' : `${min_pause} between the end of a checkpoint and the start of the next periodic checkpoint`],
    ['Tolerable failed checkpoints', tolerable === undefined ? '' : tolerable === null ? 'unlimited' : `${tolerable} in a row (one more failed checkpoint fails the job, which then recovers)`],
  ];
}
