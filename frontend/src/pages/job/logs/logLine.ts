/** Parses and filters the lines of a driver's log. Pure. */
import { toMs } from '../../../format';

export const LEVELS = ['debug', 'info', 'warning', 'error', 'critical'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogLine {
  /** The position of the line in the log, in bytes. */
  offset: number;
  text: string;
  /** Milliseconds since 1970. Null if the line contains no time with a time zone. */
  atMs: number | null;
  level: Level | null;
  /** The message and the other fields of a JSON line. The event of a plain line, such as a line of Spark, is null. */
  event: string | null;
  fields: readonly (readonly [name: string, value: unknown])[];
  /** The stack trace of a JSON line. */
  exception: string | null;
}

const SHOWN_SEPARATELY = new Set(['event', 'level', 'timestamp', 'exception']);
/** The format of Spark's log lines. Their time has no time zone, so it is only shown as text. */
const SPARK_LINE = /^\d\d\/\d\d\/\d\d \d\d:\d\d:\d\d (\w+) /;
const ALIASES: Record<string, Level> = { warn: 'warning', fatal: 'critical', exception: 'error', trace: 'debug' };

export function parseLine(text: string, offset: number): LogLine {
  const entry = parseEntry(text);
  if (entry === null) return { offset, text, atMs: null, level: parseLevel(SPARK_LINE.exec(text)?.[1]), event: null, fields: [], exception: null };
  const { event, level, timestamp, exception } = entry;
  return {
    offset, text, event: fieldText(event), level: parseLevel(level), atMs: typeof timestamp === 'string' ? toMs(timestamp) : null,
    fields: Object.entries(entry).filter(([name]) => !SHOWN_SEPARATELY.has(name)), exception: typeof exception === 'string' ? exception : null,
  };
}

function parseEntry(text: string): Record<string, unknown> | null {
  if (!text.startsWith('{')) return null;
  try {
    const entry = JSON.parse(text) as Record<string, unknown>;
    return 'event' in entry ? entry : null;
  } catch {
    return null;
  }
}

function parseLevel(name: unknown): Level | null {
  const lower = String(name).toLowerCase();
  return LEVELS.find((level) => level === lower) ?? ALIASES[lower] ?? null;
}

export const fieldText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Return the fields of a line as text, such as `slot=2 reason="exit code 1"`, followed by the last line of the stack trace. */
export function fieldsText({ fields, exception }: LogLine): string {
  const parts = fields.map(([name, value]) => `${name}=${typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value)}`);
  const error = exception?.trimEnd().split('\n').at(-1);
  return (error === undefined ? parts : [...parts, error]).join(' ');
}

/** Return a pattern that finds a text without regard to case. Null if the text is empty. */
export function searchPattern(text: string): RegExp | null {
  return text === '' ? null : new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
}

/** Return the lines that match both filters. A line without a level, such as a line of a stack trace, matches each level. */
export function filterLines(lines: readonly LogLine[], from: Level, pattern: RegExp | null): readonly LogLine[] {
  if (from === LEVELS[0] && pattern === null) return lines;
  const rank = LEVELS.indexOf(from);
  return lines.filter((line) => (line.level === null || LEVELS.indexOf(line.level) >= rank) && (pattern === null || containsText(line, pattern)));
}

const containsText = (line: LogLine, pattern: RegExp): boolean =>
  line.event === null ? pattern.test(line.text) : pattern.test(`${line.event} ${fieldsText(line)}`) || pattern.test(line.exception ?? '');

/** Return the first line at or after a time. */
export function firstLineAt(lines: readonly LogLine[], ms: number): LogLine | undefined {
  return lines.find(({ atMs }) => atMs !== null && atMs >= ms);
}
