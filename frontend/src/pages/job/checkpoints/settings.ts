/** Checkpoint settings of a spec body as text. Pure. */
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
    ['Mode', 'exactly-once; one checkpoint at a time; continues after the end of an input'],
    ['Interval', interval === 'none' ? 'none: only on request and when the job stops' : interval ? `${interval}` : ''],
    ...checkpointLimits(body),
    ['Retained', retained === undefined ? '' : `newest ${retained}, plus savepoints, pinned checkpoints and checkpoints that plans need`],
    ['Directory', directory ?? 'managed by this installation'],
    ['Staging directory', staging_directory ?? 'none'],
    ['Alignment', 'aligned: records after a barrier wait for the barriers of the other inputs'],
    ['Non-restored state', body.allow_non_restored_state === true ? 'allowed: state without a matching operator is dropped' : 'refused: state without a matching operator fails the restore'],
  ];
}

/** Return the limits of checkpoints, and what happens when they are exceeded. */
export function checkpointLimits(body: Record<string, unknown>): [name: string, value: string][] {
  const { timeout, min_pause, tolerable_failed_checkpoints: tolerable } = (body.checkpointing ?? {}) as Checkpointing;
  return [
    ['Checkpoint timeout', timeout ? `${timeout}: a checkpoint that takes longer fails` : ''],
    ['Minimum pause', min_pause === undefined ? '' : /^[0.]+[a-z]+$/.test(min_pause) ? 'none' : `${min_pause} between the end of a checkpoint and the next`],
    ['Tolerable failed checkpoints', tolerable === undefined ? '' : tolerable === null ? 'unlimited' : `${tolerable} in a row; one more fails the job, which then recovers`],
  ];
}
