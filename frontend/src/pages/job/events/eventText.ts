import { absolute, bytes, pluralize, duration } from '../../../format';
import type { JobEvent } from '../../../live/jobLive';
import { restoreOrigin } from '../recovery/lineage';

/** Describe an event. An event of an unknown kind is described by its fields. */
export function eventText({ kind, fields }: Pick<JobEvent, 'kind' | 'fields'>): string {
  const text = (name: string): string => (fields[name] === undefined || fields[name] === null ? '' : String(fields[name]));
  const number = (name: string): number | null => (typeof fields[name] === 'number' ? fields[name] : null);
  const because = text('reason') ? `: ${text('reason')}` : '';
  const problem = text('problem') ? `: ${text('problem')}` : '';
  const by = text('by') ? `, by ${text('by')}` : '';
  switch (kind) {
    case 'RunStateChanged':
      return `${text('state')}, generation ${text('generation')}${because}`;
    case 'CheckpointTriggered':
      return `checkpoint ${text('checkpoint')} (${text('trigger')}), ${pluralize(number('subtasks'), 'subtask')}`;
    case 'CheckpointCompleted':
      return `checkpoint ${text('checkpoint')} in ${duration(number('end_to_end_ms'))}, ${bytes(number('state_bytes'))}`;
    case 'CheckpointFailed':
      return `checkpoint ${text('checkpoint')}${because}`;
    case 'FailureOccurred':
    case 'WarningReported':
      return `generation ${text('generation')}${because}`;
    case 'Recovered':
      return `generation ${text('generation')} is running after ${duration(number('took_ms'))}${because}`;
    case 'CommandAnswered':
      return `command ${text('command')} ${text('outcome').toLowerCase()}${because}`;
    case 'GraphDeployed':
      return 'new graph deployed';
    case 'DesiredStateChanged':
      return `desired state: ${text('desired_state').toLowerCase()}${by}`;
    case 'RunCreated':
      return `run ${text('run')} (${text('cause')}) with version ${text('spec')}${beginning(fields.start)}${revoking(fields.start)}`;
    case 'RunEnded':
      return `run ${text('run')}: ${text('state')}${because}`;
    case 'ReassignmentBlocked':
      return `cannot reassign run ${text('run')} from lost host ${text('host')}${because}`;
    case 'DriverHung':
      return `killed the unresponsive driver of run ${text('run')}${because}`;
    case 'RestartScheduled':
      return `restart scheduled for ${absolute(text('at'))} (restart ${text('restarts')} in a row)`;
    case 'RestartsStopped':
      return `Weir no longer restarts the job${because}`;
    case 'SpecAdded':
    case 'JobDeployed':
      return `version ${text('spec')}${by}`;
    case 'SpecCompiled':
      return `version ${text('spec')} is ${text('state').toLowerCase()}${problem}`;
    case 'PlanProposed':
      return `plan ${text('plan')} (${text('plan_kind')})${by}`;
    case 'PlanInspected':
      return `plan ${text('plan')}${inspected(fields)}`;
    case 'PlanPhaseChanged':
      return `plan ${text('plan')}: ${text('phase').toLowerCase()}`;
    case 'PlanApproved':
    case 'PlanApplying':
    case 'PlanApplied':
    case 'PlanDiscarded':
    case 'PlanFailed':
      return `plan ${text('plan')}${problem}${by}`;
    case 'CheckpointPinned':
    case 'CheckpointUnpinned':
    case 'CheckpointDeletionRequested':
      return `checkpoint ${text('checkpoint')}${by}`;
    case 'OperationEnded':
      return `operation ${text('operation')} (${text('operation_kind')}) ${text('state').toLowerCase()}${problem}`;
    case 'AlertFired':
    case 'AlertResolved':
      return `${text('rule')}: ${text('message') || text('resolution')}`;
    default:
      return rest(fields);
  }
}

/** Return whether the event reports that an operation or a command has failed after the API accepted it. */
export function isFailedRequest({ kind, fields }: Pick<JobEvent, 'kind' | 'fields'>): boolean {
  return (kind === 'OperationEnded' && fields.state === 'FAILED') || (kind === 'CommandAnswered' && fields.outcome === 'REFUSED');
}

/** Describe the origin of a run that does not resume from the newest checkpoint. */
function beginning(start: unknown): string {
  const began = typeof start === 'object' && start !== null ? restoreOrigin({ start: start as Record<string, unknown> }) : null;
  switch (began?.at) {
    case 'checkpoint':
      return `, from checkpoint ${began.number}`;
    case 'external':
      return `, from ${began.number === null ? 'a checkpoint' : `checkpoint ${began.number}`} in ${began.path}`;
    case 'none':
      return ', without state';
    default:
      return '';
  }
}

function revoking(start: unknown): string {
  return typeof start === 'object' && start !== null && 'revoke_unknown_output' in start && start.revoke_unknown_output === true ? ', revokes unknown output' : '';
}

/** Describe the result of the inspection of a plan. */
function inspected({ intact, damage, incompatibility }: Record<string, unknown>): string {
  const against = intact === false ? damage : incompatibility;
  return against ? ` would fail: ${String(against)}` : ': no problem found';
}

function rest(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}
