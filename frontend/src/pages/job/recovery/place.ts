/** A place where checkpoints are, from what somebody has typed. As weir_backend.recovery.elsewhere reads it, which judges again. Pure. */
import type { Schemas } from '../../../api/types';

export interface Typed {
  path: string;
  /** '' : the newest there. */
  checkpoint: string;
}
export type Problems = Partial<Record<keyof Typed, string>>;

export const PATH_MAX = 1_000;
const PATH = /^(?:[a-z][a-z0-9]*:\/\/[^/\s]+)?(?:\/[^/]+)*\/?$/;
// eslint-disable-next-line no-control-regex -- that is what is not wanted
const STRANGE = /[\u0000-\u001f\u007f?#%\\]/;
const NUMBER = /^[1-9]\d{0,14}$/;

/** As `weir` has it, `/srv/checkpoints/flights#12` is both at once. */
export function pasted(text: string, before: Typed): Typed {
  const [, path, checkpoint] = /^\s*(.*?)#(\d+)\s*$/.exec(text) ?? [];
  return path === undefined ? { ...before, path: text } : { path, checkpoint: checkpoint! };
}

export function problemsOf({ path: typed, checkpoint }: Typed): Problems {
  const found: Problems = {};
  const path = typed.trim();
  if (path === '' || !PATH.test(path) || path.startsWith('file://')) found.path = 'A directory as /srv/checkpoints/job, or an object store as s3://bucket/prefix';
  else if (STRANGE.test(path)) found.path = 'It must not have any of ? # % \\ in it';
  else if (path.split('/').some((part) => part === '.' || part === '..')) found.path = "Name the directory itself, without '.' and '..'";
  else if (path.length > PATH_MAX) found.path = `At most ${PATH_MAX} characters`;
  if (checkpoint.trim() !== '' && !NUMBER.test(checkpoint.trim())) found.checkpoint = 'Its number there, from 1 on; empty for the newest';
  return found;
}

export function requestOf({ path, checkpoint }: Typed): Schemas['RestoreRequest'] {
  return { kind: 'restore', path: path.trim(), ...(checkpoint.trim() === '' ? {} : { checkpoint: Number(checkpoint) }) };
}
