import { counted, duration, NOTHING } from '../../format';
import type { Rates } from './useRates';

/** How far sources are behind, as far as they tell: in records, in event time, or both. */
export function Lag({ of }: { of: Rates | undefined }) {
  const said = [
    of?.lag_records === null || of?.lag_records === undefined ? null : counted(of.lag_records, 'record'),
    of?.lag_seconds === null || of?.lag_seconds === undefined ? null : duration(of.lag_seconds * 1000),
  ].filter((one) => one !== null);
  return <span style={{ whiteSpace: 'nowrap' }}>{said.length > 0 ? said.join(', ') : NOTHING}</span>;
}
