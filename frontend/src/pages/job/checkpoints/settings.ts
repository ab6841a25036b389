/** How checkpoints are taken, by the body of a spec. Pure. */
interface Checkpointing {
  interval?: string;
  retained?: number;
  directory?: string | null;
  staging_directory?: string | null;
}

export function settings(body: Record<string, unknown>): [name: string, value: string][] {
  const { interval, retained, directory, staging_directory } = (body.checkpointing ?? {}) as Checkpointing;
  return [
    ['Interval', interval === 'none' ? 'none: only when somebody asks for one, and when the job is stopped' : interval ? `${interval}` : ''],
    ['Retained', retained === undefined ? '' : `the newest ${retained}, and what is pinned, a savepoint, or still needed`],
    ['Directory', directory ?? "one of this installation's own"],
    ['Staging directory', staging_directory ?? 'none'],
    ['Alignment', 'aligned: what comes after a barrier waits until all inputs have delivered theirs'],
    ['Restored state', body.allow_non_restored_state === true ? 'state that nothing takes is left behind' : 'state that nothing takes is refused'],
  ];
}
