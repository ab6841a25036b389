/** Shown for unknown values. */
export const NO_VALUE = '–';

type Number = number | null | undefined;

const isKnown = (value: Number): value is number => typeof value === 'number' && Number.isFinite(value);

/** Return a number with at most three significant digits, such as 1.23, 12.3 or 123. */
function short(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

function scaled(value: number, units: readonly string[]): string {
  let unit = 0;
  let rest = value;
  // A value such as 999.6 would be rounded to 1000, so use the next unit.
  while (Math.abs(rest) >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? short(Math.round(rest)) : short(rest)} ${units[unit]}`;
}

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
const THOUSANDS = ['', 'k', 'M', 'G', 'T'] as const;

/** Return a size such as `1.23 MB`. Units are powers of 1000. */
export function bytes(value: Number): string {
  return isKnown(value) ? scaled(value, BYTES) : NO_VALUE;
}

/** Return a byte rate such as `12.3 MB/s`. */
export function bytesPerSecond(value: Number): string {
  return isKnown(value) ? `${scaled(value, BYTES)}/s` : NO_VALUE;
}

/** Return a rate such as `12.3 k/s`. Rates below ten have decimals. */
export function perSecond(value: Number): string {
  if (!isKnown(value)) return NO_VALUE;
  if (Math.abs(value) < 10) return `${short(value)}/s`;
  return `${scaled(value, THOUSANDS).trim()}/s`;
}

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Return a whole number such as `1,234,567`. */
export function count(value: Number): string {
  return isKnown(value) ? GROUPED.format(value) : NO_VALUE;
}

/** Return a number with its noun, such as `1 subtask` or `1,234 subtasks`. */
export function pluralize(value: Number, one: string): string {
  return `${count(value)} ${value === 1 ? one : `${one}s`}`;
}

/** Return the short form of `pluralize`, such as `310 records` or `2.42 M records`. */
export function pluralizeShort(value: Number, one: string): string {
  return isKnown(value) ? `${scaled(value, THOUSANDS).trim()} ${value === 1 ? one : `${one}s`}` : NO_VALUE;
}

/** Return a ratio from 0 to 1 as a percentage, such as `42 %`. Only the ratio 0 results in `0 %`, and only the ratio 1 results in `100 %`. */
export function percent(ratio: Number): string {
  if (!isKnown(ratio)) return NO_VALUE;
  if (ratio > 0 && ratio < 0.01) return '<1 %';
  if (ratio > 0.99 && ratio < 1) return '>99 %';
  return `${Math.round(ratio * 100)} %`;
}
