/** Conditions of rules: what people read, and what is sent. Pure. */
import type { Schemas } from '../../api/types';
import { count, counted, duration } from '../../format';

export type Condition = Schemas['RuleShown']['condition'];
export type Kind = Condition['kind'];

export const KINDS: readonly { id: Kind; name: string; what: string }[] = [
  { id: 'no-checkpoint', name: 'no checkpoint', what: 'None has completed for so long, or for two of the job’s own intervals if that is longer.' },
  { id: 'failures', name: 'failures in a row', what: 'The job has failed, or checkpoints of it have, so often without a completed one in between; or it was given up.' },
  { id: 'restarts', name: 'restarts', what: 'It was restarted so often in that time.' },
  { id: 'lag', name: 'lag', what: 'A source tells by its gauges that it is further behind than this, now and a minute ago.' },
];

/** “no checkpoint for 10 min”. */
export function conditionSaid(condition: Condition): string {
  switch (condition.kind) {
    case 'no-checkpoint':
      return `no checkpoint for ${duration(condition.minutes * 60_000)}`;
    case 'failures':
      return condition.count === 1 ? 'a failure' : `${count(condition.count)} failures in a row`;
    case 'restarts':
      return `${counted(condition.count, 'restart')} within ${duration(condition.minutes * 60_000)}`;
    case 'lag': {
      const limits = [
        condition.records === null || condition.records === undefined ? null : counted(condition.records, 'record'),
        condition.seconds === null || condition.seconds === undefined ? null : duration(condition.seconds * 1000),
      ].filter((one) => one !== null);
      return `${condition.source ? `source ${condition.source}` : 'a source'} behind by more than ${limits.join(' or ')}`;
    }
  }
}

const FIELDS: Record<Kind, readonly string[]> = {
  'no-checkpoint': ['minutes'], failures: ['count'], restarts: ['count', 'minutes'], lag: ['records', 'seconds', 'source'],
};

/** Of what was filled in, what belongs to the kind that was chosen in the end. */
export function conditionOf(filled: Record<string, unknown>): Record<string, unknown> {
  const kind = filled.kind as Kind;
  return { kind, ...Object.fromEntries(FIELDS[kind].map((name) => [name, filled[name] ?? null])) };
}

/** The limit of a lag, as the backend wants it: at least one. Undefined: it is all right. */
export function lagProblem(filled: Record<string, unknown>): string | undefined {
  const { kind, records, seconds } = filled;
  return kind === 'lag' && (records ?? null) === null && (seconds ?? null) === null ? 'Say how far behind is too far: records, seconds or both' : undefined;
}
