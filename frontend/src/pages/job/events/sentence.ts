import { absolute, bytes, counted, duration } from '../../../format';
import type { JobEvent } from '../../../live/jobLive';
import { beganAt } from '../recovery/lineage';

/** What an event says, for people. Kinds that are not known here are told by their fields. */
export function sentence({ kind, fields }: Pick<JobEvent, 'kind' | 'fields'>): string {
  const text = (name: string): string => (fields[name] === undefined || fields[name] === null ? '' : String(fields[name]));
  const number = (name: string): number | null => (typeof fields[name] === 'number' ? fields[name] : null);
  const because = text('reason') ? `: ${text('reason')}` : '';
  const problem = text('problem') ? `: ${text('problem')}` : '';
  const by = text('by') ? `, by ${text('by')}` : '';
  switch (kind) {
    case 'RunStateChanged':
      return `${text('state')}, generation ${text('generation')}${because}`;
    case 'CheckpointTriggered':
      return `checkpoint ${text('checkpoint')} (${text('trigger')}), ${counted(number('subtasks'), 'subtask')}`;
    case 'CheckpointCompleted':
      return `checkpoint ${text('checkpoint')} in ${duration(number('end_to_end_ms'))}, ${bytes(number('state_bytes'))}`;
    case 'CheckpointFailed':
      return `checkpoint ${text('checkpoint')}${because}`;
    case 'FailureOccurred':
      return `generation ${text('generation')}${because}`;
    case 'Recovered':
      return `generation ${text('generation')} after ${duration(number('took_ms'))}${because}`;
    case 'CommandAnswered':
      return `command ${text('command')} ${text('outcome').toLowerCase()}${because}`;
    case 'GraphDeployed':
      return 'the graph that runs from now on';
    case 'StateWanted':
      return `wanted: ${text('desired').toLowerCase()}${by}`;
    case 'RunBegun':
      return `run ${text('run')} (${text('cause')}) with version ${text('spec')}${beginning(fields.start)}`;
    case 'RunEnded':
      return `run ${text('run')}: ${text('state')}${because}`;
    case 'RunStranded':
      return `run ${text('run')} is not taken over from its silent machine ${text('host')}${because}`;
    case 'DriverHung':
      return `the driver of run ${text('run')} hangs, and is killed${because}`;
    case 'RestartPlanned':
      return `restart ${text('restarts')} in a row, at ${absolute(text('at'))}`;
    case 'GaveUp':
      return `it is not restarted any more${because}`;
    case 'SpecAdded':
    case 'JobDeployed':
      return `version ${text('spec')}${by}`;
    case 'SpecCompiled':
      return `version ${text('spec')} is ${text('state').toLowerCase()}${problem}`;
    case 'PlanProposed':
      return `plan ${text('plan')} (${text('kind_')})${by}`;
    case 'PlanInspected':
      return `plan ${text('plan')}: ${inspected(fields)}`;
    case 'PlanEntered':
      return `plan ${text('plan')}: ${text('phase').toLowerCase()}`;
    case 'PlanApproved':
    case 'PlanApplying':
    case 'PlanApplied':
    case 'PlanWithdrawn':
    case 'PlanFailed':
      return `plan ${text('plan')}${problem}${by}`;
    case 'CheckpointPinned':
    case 'CheckpointUnpinned':
    case 'CheckpointDeletionAsked':
      return `checkpoint ${text('checkpoint')}${by}`;
    case 'OperationEnded':
      return `${text('kind_')} ${text('operation')}: ${text('state').toLowerCase()}${problem}`;
    case 'AlertFired':
    case 'AlertResolved':
      return `${text('rule')}: ${text('message') || text('why')}`;
    default:
      return rest(fields);
  }
}

/** What somebody has asked for and was told to be on its way, and came to nothing. */
export function hasFailed({ kind, fields }: Pick<JobEvent, 'kind' | 'fields'>): boolean {
  return (kind === 'OperationEnded' && fields.state === 'FAILED') || (kind === 'CommandAnswered' && fields.outcome === 'REFUSED');
}

/** Where a run begins that does not go on with the newest checkpoint. */
function beginning(start: unknown): string {
  const began = typeof start === 'object' && start !== null ? beganAt({ start: start as Record<string, unknown> }) : null;
  switch (began?.at) {
    case 'checkpoint':
      return `, from checkpoint ${began.number}`;
    case 'elsewhere':
      return `, from ${began.number === null ? 'a checkpoint' : `checkpoint ${began.number}`} in ${began.path}`;
    case 'nothing':
      return ', without any state';
    default:
      return '';
  }
}

/** What a plan goes on with is damaged, or does not fit, or nothing is against it. */
function inspected({ whole, damage, misfit }: Record<string, unknown>): string {
  const against = whole === false ? damage : misfit;
  return against ? `it would not work: ${String(against)}` : 'a worker has looked into it';
}

function rest(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}
