/** What stands where nothing is known. */
export const NOTHING = '–';

type Number = number | null | undefined;

const known = (value: Number): value is number => typeof value === 'number' && Number.isFinite(value);

/** Three digits that count: 1.23, 12.3, 123. */
function short(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

function scaled(value: number, units: readonly string[]): string {
  let unit = 0;
  let rest = value;
  // 999.6 of a unit would be shown as 1000 of it.
  while (Math.abs(rest) >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? short(Math.round(rest)) : short(rest)} ${units[unit]}`;
}

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
const THOUSANDS = ['', 'k', 'M', 'G', 'T'] as const;

/** 1.23 MB: powers of a thousand, as disks and object stores count. */
export function bytes(value: Number): string {
  return known(value) ? scaled(value, BYTES) : NOTHING;
}

/** 12.3 MB/s. */
export function bytesPerSecond(value: Number): string {
  return known(value) ? `${scaled(value, BYTES)}/s` : NOTHING;
}

/** 12.3 k/s; below ten with its decimals. */
export function perSecond(value: Number): string {
  if (!known(value)) return NOTHING;
  if (Math.abs(value) < 10) return `${short(value)}/s`;
  return `${scaled(value, THOUSANDS).trim()}/s`;
}

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** 1,234,567. */
export function count(value: Number): string {
  return known(value) ? GROUPED.format(value) : NOTHING;
}

/** 1 subtask, 1,234 subtasks. */
export function counted(value: Number, one: string): string {
  return `${count(value)} ${value === 1 ? one : `${one}s`}`;
}

/** 310 records, 2.42 M records: where there is no room for each of them. */
export function countedRoughly(value: Number, one: string): string {
  return known(value) ? `${scaled(value, THOUSANDS).trim()} ${value === 1 ? one : `${one}s`}` : NOTHING;
}

/** Of 0 to 1: 42 %. Something is never shown as nothing, nor a part as the whole. */
export function percent(ratio: Number): string {
  if (!known(ratio)) return NOTHING;
  if (ratio > 0 && ratio < 0.01) return '<1 %';
  if (ratio > 0.99 && ratio < 1) return '>99 %';
  return `${Math.round(ratio * 100)} %`;
}
