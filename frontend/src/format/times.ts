import { NOTHING } from './numbers';

/** As the API has it (ISO 8601 with a zone), or milliseconds since 1970. */
export type Moment = string | number | null | undefined;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const AHEAD = 3 * SECOND;

/** Milliseconds since 1970; null: there is none. */
export function toMs(moment: Moment): number | null {
  if (moment === null || moment === undefined) return null;
  const ms = typeof moment === 'number' ? moment : Date.parse(moment);
  return Number.isFinite(ms) ? ms : null;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** 84 ms, 4.2 s, 11.3 s, 3 min 12 s, 5 h 07 min, 3 d 4 h. Of milliseconds. */
export function duration(ms: number | null | undefined): string {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return NOTHING;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms === 0) return '0 ms';
  if (ms < 1) return '<1 ms';
  if (Math.round(ms) < SECOND) return `${Math.round(ms)} ms`;
  // Half a minute that somebody has set was not measured to a tenth of a second.
  if (ms >= 10 * SECOND && ms < MINUTE && ms % SECOND === 0) return `${ms / SECOND} s`;
  if (ms < 59.95 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  const s = Math.round(ms / SECOND);
  if (s < 3600) return s % 60 === 0 ? `${s / 60} min` : `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  const min = Math.floor(s / 60);
  if (min < 24 * 60) return `${Math.floor(min / 60)} h ${two(min % 60)} min`;
  const h = Math.floor(min / 60);
  return `${Math.floor(h / 24)} d ${h % 24} h`;
}

/** 5 s and not 5.0 s: where a duration was set or is a mark on an axis, and nobody has measured it to a tenth. */
export const untenthed = (said: string): string => said.replace('.0 ', ' ');

/** 5 s ago, in 3 min, 1 h 30 min ago: rounded down, so that it does not run ahead of itself. Hours have their minutes, as durations beside it do. */
export function relative(moment: Moment, nowMs: number): string {
  const at = toMs(moment);
  if (at === null) return NOTHING;
  const away = Math.abs(nowMs - at);
  // The page's clock ticks once a second, and is not that of whoever tells.
  if (away < SECOND || (at > nowMs && away < AHEAD)) return 'just now';
  const said =
    away < MINUTE ? `${Math.floor(away / SECOND)} s`
    : away < HOUR ? `${Math.floor(away / MINUTE)} min`
    : away < DAY ? hours(away)
    : away < 2 * DAY ? `${Math.floor(away / HOUR)} h`
    : `${Math.floor(away / DAY)} d`;
  return at <= nowMs ? `${said} ago` : `in ${said}`;
}

function hours(ms: number): string {
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  return `${Math.floor(ms / HOUR)} h${minutes === 0 ? '' : ` ${two(minutes)} min`}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string | undefined): Intl.DateTimeFormat {
  const key = zone ?? '';
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat('en-GB', {
      year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
      hourCycle: 'h23', timeZoneName: 'short', timeZone: zone,
    });
    formats.set(key, found);
  }
  return found;
}

/** 2026-11-22 04:08:02 GMT+1, in the zone of the browser unless another is given. */
export function absolute(moment: Moment, zone?: string): string {
  const at = toMs(moment);
  if (at === null) return NOTHING;
  const part = Object.fromEntries(formatOf(zone).formatToParts(at).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
}

/** 04:08:02, for dense lists whose heading names the day. */
export function clock(moment: Moment, zone?: string): string {
  return absolute(moment, zone).split(' ')[1] ?? NOTHING;
}

/** 04:08:02 today, 11-20 04:08:02 on another day of this year, 2025-11-20 04:08:02 on one before it. */
export function clockOnDay(moment: Moment, nowMs: number, zone?: string): string {
  const [day, time] = absolute(moment, zone).split(' ');
  const [today] = absolute(nowMs, zone).split(' ');
  if (day === undefined || time === undefined || today === undefined) return NOTHING;
  if (day === today) return time;
  return `${day.slice(0, 4) === today.slice(0, 4) ? day.slice(5) : day} ${time}`;
}
