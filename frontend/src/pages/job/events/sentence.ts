import { bytes, duration } from '../../../format';
import type { JobEvent } from '../../../live/jobLive';

/** What an event says, for people. Kinds that are not known here are told by their fields. */
export function sentence({ kind, fields }: Pick<JobEvent, 'kind' | 'fields'>): string {
  const text = (name: string): string => (fields[name] === undefined || fields[name] === null ? '' : String(fields[name]));
  const number = (name: string): number | null => (typeof fields[name] === 'number' ? fields[name] : null);
  const because = text('reason') ? `: ${text('reason')}` : '';
  switch (kind) {
    case 'RunStateChanged':
      return `${text('state')}, generation ${text('generation')}${because}`;
    case 'CheckpointTriggered':
      return `checkpoint ${text('checkpoint')} (${text('trigger')}), ${text('subtasks')} subtasks`;
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
    default:
      return rest(fields);
  }
}

function rest(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}
