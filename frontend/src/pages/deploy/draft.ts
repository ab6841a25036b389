/** Converts between the deploy form and job specs. Pure. */
import type { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';

type JobSpec = Schemas['JobSpec'];
type Scalar = boolean | number | string;

export interface Parameter {
  name: string;
  value: string;
}
/** Field values as typed; numbers are converted when they are sent. */
export interface Draft {
  name: string;
  description: string;
  comment: string;
  entry: string;
  parallelism: string;
  /** '': no periodic checkpoints. */
  interval: string;
  timeout: string;
  /** '': none. */
  minPause: string;
  /** '': any number. */
  tolerable: string;
  retained: string;
  parameters: readonly Parameter[];
}
export type Field = Exclude<keyof Draft, 'parameters'> | 'file' | `parameters.${number}`;
export type Problems = Partial<Record<Field, string>>;

export const EMPTY_DRAFT: Draft = {
  name: '', description: '', comment: '', entry: 'job', parallelism: '2', interval: '10s', timeout: '10m', minPause: '0s', tolerable: '3', retained: '3', parameters: [],
};

/** The form of a new version, filled from an existing spec. */
export function draftFromSpec(job: Pick<Schemas['JobRead'], 'name' | 'description'>, body: Record<string, unknown>): Draft {
  const { entry, parallelism, checkpointing, parameters } = body as Partial<JobSpec>;
  return {
    name: job.name, description: job.description, comment: '', entry: entry ?? EMPTY_DRAFT.entry, parallelism: String(parallelism ?? EMPTY_DRAFT.parallelism),
    interval: checkpointing?.interval === 'none' ? '' : (checkpointing?.interval ?? EMPTY_DRAFT.interval), retained: String(checkpointing?.retained ?? EMPTY_DRAFT.retained),
    timeout: checkpointing?.timeout ?? EMPTY_DRAFT.timeout, minPause: checkpointing?.min_pause ?? EMPTY_DRAFT.minPause,
    tolerable: checkpointing?.tolerable_failed_checkpoints === null ? '' : String(checkpointing?.tolerable_failed_checkpoints ?? EMPTY_DRAFT.tolerable),
    parameters: Object.entries(parameters ?? {}).map(([name, value]) => ({ name, value: formatScalar(value) })),
  };
}

/** The spec to send. `before`: the previous spec; settings without a field are copied from it. */
export function specFromDraft(draft: Draft, digest: string, before: Record<string, unknown> = {}): JobSpec {
  const kept = before as Partial<JobSpec>;
  return {
    ...kept,
    artifact: digest,
    entry: draft.entry.trim() || EMPTY_DRAFT.entry,
    parallelism: Number(draft.parallelism),
    parameters: Object.fromEntries(draft.parameters.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), parseScalar(value)])),
    checkpointing: {
      ...kept.checkpointing, interval: draft.interval.trim() || 'none', timeout: draft.timeout.trim(), min_pause: draft.minPause.trim() || '0s',
      tolerable_failed_checkpoints: draft.tolerable.trim() === '' ? null : Number(draft.tolerable), retained: Number(draft.retained),
    },
  };
}

/** Parse a parameter: 5 is a number, true a boolean, "5" in quotes a text. */
export function parseScalar(text: string): Scalar {
  const trimmed = text.trim();
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed)) {
    const number = Number(trimmed);
    // Keep the text if JavaScript cannot represent the number exactly.
    if (Number.isFinite(number) && (!/^-?\d+$/.test(trimmed) || Number.isSafeInteger(number))) return number;
  }
  return /^".*"$/.test(trimmed) ? trimmed.slice(1, -1) : text;
}

/** The inverse of `parseScalar`. */
export function formatScalar(value: Scalar): string {
  if (typeof value !== 'string') return String(value);
  return parseScalar(value) === value ? value : `"${value}"`;
}

const FILE = /^[A-Za-z0-9_][A-Za-z0-9._+-]*\.(py|zip|whl)$/;
const DURATION = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$/;
const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const DURATION_H_MAX = 10_000;
const WORD = /^[A-Za-z_][A-Za-z0-9_]*$/;
const ENTRY = /^([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:)?[A-Za-z_][A-Za-z0-9_]*$/;

/** What stands in the way of sending it, by field. `file`: the one that was chosen; null: none was, and none is needed if `hasFile`. */
export function missingFields(draft: Draft, { file, hasFile }: { file: Pick<File, 'name' | 'size'> | null; hasFile: boolean }): Problems {
  const found: Problems = {};
  if (file === null) {
    if (!hasFile) found.file = 'Choose a file: a .py, .zip or .whl';
  } else if (!FILE.test(file.name)) found.file = `${file.name} is not a name that is taken: letters, digits, . _ + -, and .py, .zip or .whl at its end`;
  else if (file.size === 0) found.file = `${file.name} is empty: there is no function in it that makes a job`;
  if (draft.name.trim() === '') found.name = 'A job needs a name';
  if (!ENTRY.test(draft.entry.trim() || EMPTY_DRAFT.entry)) found.entry = 'function, or package.module:function in an archive';
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

/** Suggest a job name for a file: route-delays for route_delays.py. */
export function suggestJobName(file: string): string {
  return file.replace(/\.(py|zip|whl)$/, '').replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '').toLowerCase();
}

/** Map the API's field errors (`spec.checkpointing.interval`) to form fields. A taken name comes without a field. */
export function fieldProblems({ code, body: { errors } }: Pick<ApiProblem, 'code' | 'body'>): Problems {
  if (code === 'name-taken') return { name: 'A job with this name already exists' };
  const names: Record<string, Field> = {
    name: 'name', description: 'description', comment: 'comment', 'spec.entry': 'entry', 'spec.parallelism': 'parallelism',
    'spec.checkpointing.interval': 'interval', 'spec.checkpointing.timeout': 'timeout', 'spec.checkpointing.min_pause': 'minPause',
    'spec.checkpointing.tolerable_failed_checkpoints': 'tolerable', 'spec.checkpointing.retained': 'retained', 'spec.artifact': 'file',
  };
  return Object.fromEntries(Object.entries(errors ?? {}).flatMap(([where, what]) => (names[where] ? [[names[where], what]] : [])));
}
