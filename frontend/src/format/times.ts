import { NO_VALUE } from './numbers';

/** A time in the API's format (ISO 8601 with a zone), or in milliseconds since 1970. */
export type Moment = string | number | null | undefined;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CLOCK_SKEW = 3 * SECOND;

/** Return milliseconds since 1970, or null if the time is missing or invalid. */
export function toMs(moment: Moment): number | null {
  if (moment === null || moment === undefined) return null;
  const ms = typeof moment === 'number' ? moment : Date.parse(moment);
  return Number.isFinite(ms) ? ms : null;
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** Return a duration in milliseconds as text, such as 84 ms, 4.2 s, 11.3 s, 3 min 12 s, 5 h 07 min or 3 d 4 h. */
export function duration(ms: number | null | undefined): string {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return NO_VALUE;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms === 0) return '0 ms';
  if (ms < 1) return '<1 ms';
  if (Math.round(ms) < SECOND) return `${Math.round(ms)} ms`;
  // Whole seconds are configured values and not measurements, so show them without a decimal.
  if (ms >= 10 * SECOND && ms < MINUTE && ms % SECOND === 0) return `${ms / SECOND} s`;
  if (ms < 59.95 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  const s = Math.round(ms / SECOND);
  if (s < 3600) return s % 60 === 0 ? `${s / 60} min` : `${Math.floor(s / 60)} min ${twoDigits(s % 60)} s`;
  const min = Math.floor(s / 60);
  if (min < 24 * 60) return `${Math.floor(min / 60)} h ${twoDigits(min % 60)} min`;
  const h = Math.floor(min / 60);
  return `${Math.floor(h / 24)} d ${h % 24} h`;
}

/** Remove a zero decimal from a duration, as in `5 s` for `5.0 s`. Used for configured durations and axis labels. */
export const dropZeroTenths = (text: string): string => text.replace('.0 ', ' ');

/** Return a relative time, such as `5 s ago`, `1 h 30 min ago` or `in 3 min`. The returned time is rounded down, so that `1 min ago` never appears before one minute has passed. */
export function relative(moment: Moment, nowMs: number): string {
  const at = toMs(moment);
  if (at === null) return NO_VALUE;
  const away = Math.abs(nowMs - at);
  // Show differences of less than a second as `just now`. Also show times in the near future as `just now`, because the page's clock can be
  // behind the server's clock.
  if (away < SECOND || (at > nowMs && away < CLOCK_SKEW)) return 'just now';
  const distance =
    away < MINUTE ? `${Math.floor(away / SECOND)} s`
    : away < HOUR ? `${Math.floor(away / MINUTE)} min`
    : away < DAY ? hours(away)
    : away < 2 * DAY ? `${Math.floor(away / HOUR)} h`
    : `${Math.floor(away / DAY)} d`;
  return at <= nowMs ? `${distance} ago` : `in ${distance}`;
}

function hours(ms: number): string {
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  return `${Math.floor(ms / HOUR)} h${minutes === 0 ? '' : ` ${twoDigits(minutes)} min`}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string | undefined): Intl.DateTimeFormat {
  const key = zone ?? '';
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
      hourCycle: 'h23', timeZoneName: 'short', timeZone: zone,
    });
    formats.set(key, format);
  }
  return format;
}

/** Return an absolute time such as `2026-11-22 04:08:02 GMT+1`. The default zone is the browser's time zone. */
export function absolute(moment: Moment, zone?: string): string {
  const at = toMs(moment);
  if (at === null) return NO_VALUE;
  const part = Object.fromEntries(formatOf(zone).formatToParts(at).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
}

/** Return the time of day, such as `04:08:02`. */
export function clock(moment: Moment, zone?: string): string {
  return absolute(moment, zone).split(' ')[1] ?? NO_VALUE;
}

/** Format the time of a log line. The format is that of `clockWithDate` with milliseconds, such as `04:08:02.031`. */
export function clockWithMs(moment: Moment, nowMs: number, zone?: string): string {
  const at = toMs(moment);
  return at === null ? NO_VALUE : `${clockWithDate(at, nowMs, zone)}.${String(Math.floor(at) % SECOND).padStart(3, '0')}`;
}

/** Return `04:08:02` for a time today, `11-20 04:08:02` for another day of this year, and `2025-11-20 04:08:02` for another year. */
export function clockWithDate(moment: Moment, nowMs: number, zone?: string): string {
  const [day, time] = absolute(moment, zone).split(' ');
  const [today] = absolute(nowMs, zone).split(' ');
  if (day === undefined || time === undefined || today === undefined) return NO_VALUE;
  if (day === today) return time;
  return `${day.slice(0, 4) === today.slice(0, 4) ? day.slice(5) : day} ${time}`;
}
