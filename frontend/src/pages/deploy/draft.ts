/** From what somebody fills in to what the API takes, and back. Pure. */
import type { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';

type SpecBody = Schemas['SpecBody'];
type Scalar = boolean | number | string;

export interface Parameter {
  name: string;
  value: string;
}
/** As typed: numbers are texts until they are sent. */
export interface Draft {
  name: string;
  description: string;
  comment: string;
  entry: string;
  parallelism: string;
  /** '' : none are taken by themselves. */
  interval: string;
  timeout: string;
  /** '' : none. */
  minPause: string;
  /** '' : any number. */
  tolerable: string;
  retained: string;
  parameters: readonly Parameter[];
}
export type Field = Exclude<keyof Draft, 'parameters'> | 'file' | `parameters.${number}`;
export type Problems = Partial<Record<Field, string>>;

export const EMPTY: Draft = {
  name: '', description: '', comment: '', entry: 'job', parallelism: '2', interval: '10s', timeout: '10m', minPause: '0s', tolerable: '3', retained: '3', parameters: [],
};

/** What another version begins with. */
export function draftOf(job: Pick<Schemas['JobShown'], 'name' | 'description'>, body: Record<string, unknown>): Draft {
  const { entry, parallelism, checkpointing, parameters } = body as Partial<SpecBody>;
  return {
    name: job.name, description: job.description, comment: '', entry: entry ?? EMPTY.entry, parallelism: String(parallelism ?? EMPTY.parallelism),
    interval: checkpointing?.interval === 'none' ? '' : (checkpointing?.interval ?? EMPTY.interval), retained: String(checkpointing?.retained ?? EMPTY.retained),
    timeout: checkpointing?.timeout ?? EMPTY.timeout, minPause: checkpointing?.min_pause ?? EMPTY.minPause,
    tolerable: checkpointing?.tolerable_failed_checkpoints === null ? '' : String(checkpointing?.tolerable_failed_checkpoints ?? EMPTY.tolerable),
    parameters: Object.entries(parameters ?? {}).map(([name, value]) => ({ name, value: textOf(value) })),
  };
}

/** `before`: of the version that this one follows; what the form does not ask for stays as it was there. */
export function bodyOf(draft: Draft, digest: string, before: Record<string, unknown> = {}): SpecBody {
  const kept = before as Partial<SpecBody>;
  return {
    ...kept,
    artifact: digest,
    entry: draft.entry.trim() || EMPTY.entry,
    parallelism: Number(draft.parallelism),
    parameters: Object.fromEntries(draft.parameters.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), scalarOf(value)])),
    checkpointing: {
      ...kept.checkpointing, interval: draft.interval.trim() || 'none', timeout: draft.timeout.trim(), min_pause: draft.minPause.trim() || '0s',
      tolerable_failed_checkpoints: draft.tolerable.trim() === '' ? null : Number(draft.tolerable), retained: Number(draft.retained),
    },
  };
}

/** 5 and true are what they look like; "5" in quotes is a text. */
export function scalarOf(text: string): Scalar {
  const trimmed = text.trim();
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed)) {
    const number = Number(trimmed);
    // What a number of JavaScript would change is left as it was typed.
    if (Number.isFinite(number) && (!/^-?\d+$/.test(trimmed) || Number.isSafeInteger(number))) return number;
  }
  return /^".*"$/.test(trimmed) ? trimmed.slice(1, -1) : text;
}

/** So that `scalarOf` gives it back. */
export function textOf(value: Scalar): string {
  if (typeof value !== 'string') return String(value);
  return scalarOf(value) === value ? value : `"${value}"`;
}

const FILE = /^[A-Za-z0-9_][A-Za-z0-9._+-]*\.(py|zip|whl)$/;
const DURATION = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$/;
const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const DURATION_H_MAX = 10_000;
const WORD = /^[A-Za-z_][A-Za-z0-9_]*$/;
const ENTRY = /^([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:)?[A-Za-z_][A-Za-z0-9_]*$/;

/** What stands in the way of sending it, by field. `file`: the one that was chosen; null: none was, and none is needed if `hasFile`. */
export function problemsOf(draft: Draft, { file, hasFile }: { file: Pick<File, 'name' | 'size'> | null; hasFile: boolean }): Problems {
  const found: Problems = {};
  if (file === null) {
    if (!hasFile) found.file = 'Choose a file: a .py, .zip or .whl';
  } else if (!FILE.test(file.name)) found.file = `${file.name} is not a name that is taken: letters, digits, . _ + -, and .py, .zip or .whl at its end`;
  else if (file.size === 0) found.file = `${file.name} is empty: there is no function in it that makes a job`;
  if (draft.name.trim() === '') found.name = 'A job needs a name';
  if (!ENTRY.test(draft.entry.trim() || EMPTY.entry)) found.entry = 'function, or package.module:function in an archive';
  else if (file !== null && !file.name.endsWith('.py') && !draft.entry.includes(':')) found.entry = 'An archive needs package.module:function';
  if (!whole(draft.parallelism, 1, 1024)) found.parallelism = '1 to 1024';
  if (!whole(draft.retained, 1, 1000)) found.retained = '1 to 1000';
  if (draft.interval.trim() !== '' && !lasts(draft.interval, 1)) found.interval = 'A number and ms, s, m or h, as in 10s; empty for none';
  if (!lasts(draft.timeout, 1)) found.timeout = 'A number and ms, s, m or h, as in 10m';
  if (draft.minPause.trim() !== '' && !lasts(draft.minPause, 0)) found.minPause = 'A number and ms, s, m or h, as in 5s; empty for none';
  if (draft.tolerable.trim() !== '' && !whole(draft.tolerable, 0, 1000)) found.tolerable = '0 to 1000; empty for any number';
  const seen = new Set<string>();
  draft.parameters.forEach(({ name, value }, at) => {
    const trimmed = name.trim();
    if (trimmed === '' && value.trim() === '') return;
    if (!WORD.test(trimmed)) found[`parameters.${at}`] = 'A name of letters, digits and _';
    else if (seen.has(trimmed)) found[`parameters.${at}`] = 'This one is there already';
    seen.add(trimmed);
  });
  return found;
}

function whole(text: string, least: number, most: number): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= least && Number(text) <= most;
}

function lasts(text: string, leastMs: number): boolean {
  const [, number, unit] = DURATION.exec(text.trim()) ?? [];
  if (number === undefined || unit === undefined) return false;
  const ms = Number(number) * UNITS_MS[unit]!;
  return ms >= leastMs && ms <= DURATION_H_MAX * UNITS_MS.h!;
}

/** route_delays.py: route-delays. */
export function nameFor(file: string): string {
  return file.replace(/\.(py|zip|whl)$/, '').replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '').toLowerCase();
}

/** What the API says of fields (`spec.checkpointing.interval`), beside those of the form. That a name is taken it says of no field. */
export function refusedFields({ code, body: { errors } }: Pick<ApiProblem, 'code' | 'body'>): Problems {
  if (code === 'name-taken') return { name: 'A job of this name exists already' };
  const names: Record<string, Field> = {
    name: 'name', description: 'description', comment: 'comment', 'spec.entry': 'entry', 'spec.parallelism': 'parallelism',
    'spec.checkpointing.interval': 'interval', 'spec.checkpointing.timeout': 'timeout', 'spec.checkpointing.min_pause': 'minPause',
    'spec.checkpointing.tolerable_failed_checkpoints': 'tolerable', 'spec.checkpointing.retained': 'retained', 'spec.artifact': 'file',
  };
  return Object.fromEntries(Object.entries(errors ?? {}).flatMap(([where, what]) => (names[where] ? [[names[where], what]] : [])));
}
