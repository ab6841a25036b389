/** Lets the command palette, which is outside the page of a job, open a dialog of this page. The dialog sends the request, not the palette. */
import type { JobVerb } from './JobActions';

type Listener = (verb: JobVerb) => void;

const listeners = new Set<Listener>();

/** Open the dialog of a verb on the page of the current job. */
export function requestVerb(verb: JobVerb): void {
  for (const listener of listeners) listener(verb);
}

/** Call `listener` for each requested verb, until the returned function is called. */
export function onVerbRequested(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
