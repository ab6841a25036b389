/** The actions that the API lists on jobs, checkpoints and plans. Only the API decides which actions are allowed. */
import type { Schemas } from '../../api/types';

type Action = Schemas['ActionRead'];
export type Verb = Action['verb'];

export const REQUEST_PENDING = 'Another request is in progress.';

/** Return the reason why a verb is disabled, or null if the verb is allowed. */
export function disabledReason(actions: readonly Action[], verb: Verb): string | null {
  const action = actions.find((one) => one.verb === verb);
  return action ? action.reason : 'This action is not available in the current state.';
}

export const hasAction = (actions: readonly Action[], verb: Verb): boolean => actions.some((one) => one.verb === verb);
