/** The form of a restore from a path. The backend validates again. Pure. */
import type { Schemas } from '../../../api/types';

export interface RestoreForm {
  path: string;
  /** Empty: the newest checkpoint. */
  checkpoint: string;
}
export type FormErrors = Partial<Record<keyof RestoreForm, string>>;

export const PATH_MAX = 1_000;
const PATH = /^(?:[a-z][a-z0-9]*:\/\/[^/\s]+)?(?:\/[^/]+)*\/?$/;
// eslint-disable-next-line no-control-regex -- control characters are not allowed in paths
const FORBIDDEN = /[\u0000-\u001f\u007f?#%\\]/;
const NUMBER = /^[1-9]\d{0,14}$/;

/** Split a pasted `/srv/checkpoints/flights#12`, the form that the CLI prints, into its parts. */
export function parsePastedPath(text: string, before: RestoreForm): RestoreForm {
  const [, path, checkpoint] = /^\s*(.*?)#(\d+)\s*$/.exec(text) ?? [];
  return path === undefined ? { ...before, path: text } : { path, checkpoint: checkpoint! };
}

export function validate({ path: typed, checkpoint }: RestoreForm): FormErrors {
  const errors: FormErrors = {};
  const path = typed.trim();
  if (path === '' || !PATH.test(path) || path.startsWith('file://')) errors.path = 'Enter a directory such as /srv/checkpoints/job, or an object store such as s3://bucket/prefix.';
  else if (FORBIDDEN.test(path)) errors.path = 'The path must not contain ? # % or \\.';
  else if (path.split('/').some((part) => part === '.' || part === '..')) errors.path = "The path must not contain '.' or '..'.";
  else if (path.length > PATH_MAX) errors.path = `Enter at most ${PATH_MAX} characters.`;
  if (checkpoint.trim() !== '' && !NUMBER.test(checkpoint.trim())) errors.checkpoint = 'Enter a number from 1, or leave the field empty.';
  return errors;
}

export function toRequest({ path, checkpoint }: RestoreForm): Schemas['RestoreRequest'] {
  return { kind: 'restore', path: path.trim(), ...(checkpoint.trim() === '' ? {} : { checkpoint: Number(checkpoint) }) };
}
