import { pluralize, pluralizeShort, duration, NO_VALUE } from '../../format';
import type { Rates } from './useRates';

/** The lag of a job's sources in records, in event time, or both. The tooltip has the exact number of records. */
export function Lag({ rates }: { rates: Rates | undefined }) {
  const records = rates?.lag_records ?? null;
  const parts = [
    records === null ? null : pluralizeShort(records, 'record'),
    rates?.lag_seconds === null || rates?.lag_seconds === undefined ? null : duration(rates.lag_seconds * 1000),
  ].filter((one) => one !== null);
  return <span title={records === null ? undefined : pluralize(records, 'record')} style={{ whiteSpace: 'nowrap' }}>{parts.length > 0 ? parts.join(', ') : NO_VALUE}</span>;
}
