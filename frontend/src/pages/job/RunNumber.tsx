import { NO_VALUE } from '../../format';
import { useRuns } from './useJob';

/** Shows the number of a run within its job. `of` is the id of the run. Run ids are unique across all jobs. */
export function RunNumber({ of }: { of: number }) {
  const { data } = useRuns();
  return <>{data?.find(({ id }) => id === of)?.number ?? NO_VALUE}</>;
}
