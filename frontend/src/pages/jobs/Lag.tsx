import { counted, countedRoughly, duration, NOTHING } from '../../format';
import type { Rates } from './useRates';

/** How far sources are behind, as far as they tell: in records, in event time, or both. Each record is counted on pointing at it only. */
export function Lag({ of }: { of: Rates | undefined }) {
  const records = of?.lag_records ?? null;
  const said = [
    records === null ? null : countedRoughly(records, 'record'),
    of?.lag_seconds === null || of?.lag_seconds === undefined ? null : duration(of.lag_seconds * 1000),
  ].filter((one) => one !== null);
  return <span title={records === null ? undefined : counted(records, 'record')} style={{ whiteSpace: 'nowrap' }}>{said.length > 0 ? said.join(', ') : NOTHING}</span>;
}
