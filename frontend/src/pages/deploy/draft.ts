/** Pure functions that convert between the deploy form and job specs. */
import type { ApiProblem } from '../../api/problem';
import type { Schemas } from '../../api/types';
import { defaultOf, fieldError } from '../../api/validation';

type JobSpec = Schemas['JobSpec'];
/** The API adds the defaults to the specs that it returns. */
type CompleteSpec = Required<JobSpec> & { checkpointing: Required<Schemas['Checkpointing']>; timeouts: Required<Schemas['Timeouts']> };
type RecoveryStrategy = Schemas['RecoveryStrategy'];
type Scalar = boolean | number | string;

interface Parameter {
  name: string;
  value: string;
}

/** The request field of each form field. The API defines the limits and the default of a request field, and names the field in errors. */
const REQUEST_FIELDS = {
  name: 'name', description: 'description', comment: 'comment', entry: 'spec.entry', parallelism: 'spec.parallelism', interval: 'spec.checkpointing.interval',
  timeout: 'spec.checkpointing.timeout', minPause: 'spec.checkpointing.min_pause', tolerable: 'spec.checkpointing.tolerable_failed_checkpoints',
  retained: 'spec.checkpointing.retained', heartbeatTimeout: 'spec.timeouts.heartbeat', stuckTimeout: 'spec.timeouts.stuck', callTimeout: 'spec.timeouts.call', slotsTimeout: 'spec.timeouts.slots', deployTimeout: 'spec.timeouts.deploy',
  cancelTimeout: 'spec.timeouts.cancel', connectTimeout: 'spec.timeouts.connect', networkMemory: 'spec.network_memory', bufferTimeout: 'spec.buffer_timeout', recovery: 'spec.recovery',
} as const;
const FORMATS: Partial<Record<TextFieldName, string>> = { name: 'Use letters, digits and . _ -', entry: 'Enter the name of a function, or package.module:function for an archive' };
const FIELD_OF_CODE: Record<string, string> = { 'name-taken': 'name', empty: 'file', 'not-an-archive': 'file', 'too-large': 'file' };

export type TextFieldName = keyof typeof REQUEST_FIELDS;
const TEXT_FIELDS = Object.keys(REQUEST_FIELDS) as TextFieldName[];
const mapFields = <Value>(map: (field: TextFieldName) => Value) => Object.fromEntries(TEXT_FIELDS.map((field) => [field, map(field)])) as Record<TextFieldName, Value>;

/**
 * The field values as the user typed them. Numbers are converted when the form is sent. If `interval` is empty, checkpoints are only triggered manually.
 * If `tolerable` is empty, the number of failed checkpoints is unlimited.
 */
export type Draft = Record<TextFieldName, string> & { parameters: readonly Parameter[] };
/** All values of the form. */
export type FormValues = Draft & { file: File | null };
/** Errors by form field. Errors of `parameters` are listed by parameter name. */
type Problems = Partial<Record<TextFieldName | 'file' | `parameters.${string}`, string>>;

export const EMPTY_DRAFT: Draft = { ...mapFields((field) => defaultOf(`JobCreate.${REQUEST_FIELDS[field]}`)), parameters: [] };

/** Return the form of a new version, filled from an existing spec. */
export function draftFromSpec({ name, description }: Pick<Schemas['JobRead'], 'name' | 'description'>, body: Record<string, unknown>): Draft {
  const { entry, parallelism, parameters, checkpointing: { interval, timeout, min_pause, tolerable_failed_checkpoints, retained }, timeouts, network_memory, buffer_timeout, recovery } = body as CompleteSpec;
  return {
    name, description, comment: '', entry, parallelism: String(parallelism), interval: interval === 'none' ? '' : interval, timeout, minPause: min_pause,
    tolerable: String(tolerable_failed_checkpoints ?? ''), retained: String(retained),
    heartbeatTimeout: timeouts.heartbeat, stuckTimeout: timeouts.stuck, callTimeout: timeouts.call, slotsTimeout: timeouts.slots, deployTimeout: timeouts.deploy, cancelTimeout: timeouts.cancel, connectTimeout: timeouts.connect,
    networkMemory: network_memory, bufferTimeout: buffer_timeout, recovery,
    parameters: Object.entries(parameters).map(([name, value]) => ({ name, value: formatScalar(value) })),
  };
}

/** Convert the texts of the form to the values of the request. */
function convert(draft: Draft) {
  const trimmed = mapFields((field) => draft[field].trim());
  const { entry, interval, minPause, tolerable, parallelism, retained } = trimmed;
  return {
    ...trimmed, entry: entry || EMPTY_DRAFT.entry, interval: interval || 'none', minPause: minPause || EMPTY_DRAFT.minPause,
    tolerable: tolerable === '' ? null : Number(tolerable), parallelism: Number(parallelism), retained: Number(retained),
  };
}

/** Return the spec to send. Settings that have no form field are copied from the previous spec, `before`. */
export function specFromDraft(draft: Draft, digest: string, before: Record<string, unknown> = {}): JobSpec {
  const kept = before as Partial<JobSpec>;
  const { entry, parallelism, interval, timeout, minPause, tolerable, retained, networkMemory, bufferTimeout, recovery, ...limits } = convert(draft);
  return {
    ...kept,
    artifact: digest,
    entry,
    parallelism,
    parameters: Object.fromEntries(draft.parameters.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), parseScalar(value)])),
    checkpointing: { ...kept.checkpointing, interval, timeout, min_pause: minPause, tolerable_failed_checkpoints: tolerable, retained },
    timeouts: {
      ...kept.timeouts, heartbeat: limits.heartbeatTimeout, stuck: limits.stuckTimeout, call: limits.callTimeout, slots: limits.slotsTimeout, deploy: limits.deployTimeout, cancel: limits.cancelTimeout,
      connect: limits.connectTimeout,
    },
    network_memory: networkMemory,
    buffer_timeout: bufferTimeout,
    recovery: recovery as RecoveryStrategy,
  };
}

/** Parse the value of a parameter. For example, `5` is a number, `true` is a boolean, and `"5"` is text. */
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

/** Return the text that `parseScalar` parses to this value. */
export function formatScalar(value: Scalar): string {
  if (typeof value !== 'string') return String(value);
  return parseScalar(value) === value ? value : `"${value}"`;
}

/**
 * Return the errors that prevent sending the form. `file` is the chosen file. If `hasFile` is true, the previous version has a file, so the user need
 * not choose a file.
 */
export function formProblems(draft: Draft, { file, hasFile }: { file: Pick<File, 'name'> | null; hasFile: boolean }): Problems {
  const values = convert(draft);
  const found: Record<string, string | null> = mapFields((field) => (values[field] === null ? null : fieldError(`JobCreate.${REQUEST_FIELDS[field]}`, values[field], FORMATS[field])));
  if (file) found.file = fieldError('upload_artifact.name', file.name, 'The name must end in .py, .zip or .whl and have only letters, digits and . _ + -');
  else if (!hasFile) found.file = 'Choose a .py, .zip or .whl file';
  for (const { name } of draft.parameters.filter(({ name, value }) => name.trim() + value.trim() !== '')) {
    const field = `parameters.${name.trim()}`;
    found[field] = field in found ? 'Duplicate name' : fieldError('JobCreate.spec.parameters.[key]', name.trim(), 'Use letters, digits and _');
  }
  return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== null)) as Problems;
}

/** Return a suggested job name for a file, such as `route-delays` for route_delays.py. */
export function suggestJobName(file: string): string {
  return file.replace(/\.(py|zip|whl)$/, '').replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '').toLowerCase();
}

/** Return the errors of an API response by form field. */
export function fieldProblems({ code, message, body: { errors = {} } }: Pick<ApiProblem, 'code' | 'message' | 'body'>): Problems {
  if (FIELD_OF_CODE[code]) return { [FIELD_OF_CODE[code]]: message };
  const ofParameters = Object.entries(errors).filter(([path]) => path.startsWith('spec.parameters.')).map(([path, error]) => [path.split('.').slice(1, 3).join('.'), error]);
  return Object.fromEntries([...TEXT_FIELDS.map((field) => [field, errors[REQUEST_FIELDS[field]]]), ...ofParameters].filter(([, error]) => error !== undefined));
}

/**
 * Return the problems of fields that the user has not changed since the request. If the user has changed any job parameter, the function omits the
 * problems of all job parameters.
 */
export function problemsOfUnchangedFields(problems: Problems, sent: FormValues, now: FormValues): Problems {
  const isUnchanged = (name: keyof FormValues): boolean => sent[name] === now[name];
  return Object.fromEntries(Object.entries(problems).filter(([field]) => isUnchanged(field.split('.')[0] as keyof FormValues)));
}
