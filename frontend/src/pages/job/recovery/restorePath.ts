/** Parses and validates the form for a restore from a path. Pure. */
import type { Schemas } from '../../../api/types';
import { fieldError } from '../../../api/validation';

export interface RestoreForm {
  path: string;
  /** An empty string means the newest checkpoint. */
  checkpoint: string;
}

/**
 * Split a pasted path such as `/srv/checkpoints/flights#12` into path and checkpoint number. The CLI prints an external checkpoint as `PATH#NUMBER`.
 */
export function parsePastedPath(text: string, before: RestoreForm): RestoreForm {
  const [, path, checkpoint] = /^\s*(.*?)#(\d+)\s*$/.exec(text) ?? [];
  return path === undefined ? { ...before, path: text } : { path, checkpoint: checkpoint! };
}

export function validate({ path, checkpoint }: RestoreForm): Record<keyof RestoreForm, string | null> {
  return { path: fieldError('RestoreRequest.path', path.trim()), checkpoint: checkpoint.trim() === '' ? null : fieldError('RestoreRequest.checkpoint', checkpoint) };
}

export function toRequest({ path, checkpoint }: RestoreForm): Schemas['RestoreRequest'] {
  return { kind: 'restore', path: path.trim(), ...(checkpoint.trim() === '' ? {} : { checkpoint: Number(checkpoint) }) };
}
