/** What can be done to a job, and if not, why. Pure. */
import type { Schemas } from '../../api/types';
import { takeable } from './checkpoints/allowed';
import { busyWith, whyNotCompiled, type Obstacle } from './recovery/allowed';

type Job = Pick<Schemas['JobShown'], 'desired_state' | 'state' | 'operation' | 'spec_state' | 'name' | 'run'>;

export type Verb = 'start' | 'suspend' | 'cancel' | 'savepoint' | 'rescale' | 'upgrade' | 'delete';
export interface Offer {
  verb: Verb;
  /** Null: it can be done. */
  why: Obstacle;
}

/** `main` stand in the header, `more` in a menu. What would make no sense is not offered; what cannot be done now says why. */
export function verbsOf(job: Job): { main: Offer[]; more: Offer[] } {
  const busy = busyWith(job);
  const wanted = job.desired_state === 'RUNNING';
  const finished = job.state === 'FINISHED';
  const offer = (verb: Verb, why: Obstacle = null): Offer => ({ verb, why: why ?? busy });
  const main =
    wanted && !finished
      ? job.state === 'FAILED'
        ? [offer('start'), offer('cancel')]
        : [offer('savepoint', takeable(job)), offer('suspend'), offer('cancel')]
      : [
          offer('start', finished ? 'It has finished: its input has ended. Deploy it under another name to run it again.' : whyNotCompiled(job)),
          // A last checkpoint that never completes need not be waited for.
          ...(finished || resting(job) === null ? [] : [offer('cancel')]),
        ];
  return {
    main,
    more: [
      offer('rescale', finished ? 'It has finished.' : whyNotCompiled(job)),
      offer('upgrade'),
      offer('delete', wanted && !finished ? 'It is to run: suspend or cancel it first.' : resting(job)),
    ],
  };
}

export const AT_REST = new Set<Schemas['RunState']>(['CREATED', 'FINISHED', 'SUSPENDED', 'CANCELED', 'FAILED']);

function resting({ state }: Job): Obstacle {
  return AT_REST.has(state) ? null : `Its run is not over yet: it is ${state.toLowerCase()}.`;
}
