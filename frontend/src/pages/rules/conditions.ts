/** Pure functions that convert the conditions of alert rules to text and to form values. */
import type { Schemas } from '../../api/types';
import { count, pluralize, duration } from '../../format';

export type Condition = Schemas['AlertRuleRead']['condition'];
export type Kind = Condition['kind'];

export const KINDS: readonly { id: Kind; name: string; help: string }[] = [
  { id: 'no-checkpoint', name: 'no checkpoint', help: 'Fires if no checkpoint completes within this time or within two checkpoint intervals, whichever is longer.' },
  { id: 'failures', name: 'failures in a row', help: 'Fires if the job or its checkpoints fail this number of times without a completed checkpoint in between.' },
  { id: 'restarts', name: 'restarts', help: 'Fires if the job restarts the given number of times within the given time.' },
  { id: 'health', name: 'degraded', help: 'Fires if a running job is degraded for this reason.' },
  { id: 'lag', name: 'lag', help: 'Fires if a source’s lag exceeds a limit for one minute.' },
];

type Reason = NonNullable<Extract<Condition, { kind: 'health' }>['reason']>;
const REASONS: Record<Reason, string> = {
  'no-checkpoint': 'no checkpoint for three intervals', 'failed-checkpoints': 'checkpoints fail', 'slow-checkpoints': 'checkpoints are slow',
  'no-throughput': 'an operator processes no records', bottleneck: 'a bottleneck delays records or checkpoints', restarts: 'the job restarts repeatedly',
};
export const REASON_CHOICES = Object.entries(REASONS).map(([id, name]) => ({ id, name }));

/** Return a condition as text, such as `no checkpoint for 10 min`. */
export function formatCondition(condition: Condition): string {
  switch (condition.kind) {
    case 'no-checkpoint':
      return `no checkpoint for ${duration(condition.minutes * 60_000)}`;
    case 'failures':
      return condition.count === 1 ? 'a failure' : `${count(condition.count)} failures in a row`;
    case 'restarts':
      return `${pluralize(condition.count, 'restart')} within ${duration(condition.minutes * 60_000)}`;
    case 'health':
      return `degraded: ${condition.reason ? REASONS[condition.reason] : 'any reason'}`;
    case 'lag': {
      const limits = [
        condition.records === null || condition.records === undefined ? null : pluralize(condition.records, 'record'),
        condition.seconds === null || condition.seconds === undefined ? null : duration(condition.seconds * 1000),
      ].filter((one) => one !== null);
      return `lag of ${condition.source ? `source ${condition.source}` : 'a source'} above ${limits.join(' or ')}`;
    }
  }
}

const FIELDS: Record<Kind, readonly string[]> = {
  'no-checkpoint': ['minutes'], failures: ['count'], restarts: ['count', 'minutes'], health: ['reason'], lag: ['records', 'seconds', 'source'],
};

/** Return only the form values that belong to the chosen kind. */
export function conditionFromForm(filled: Record<string, unknown>): Record<string, unknown> {
  const kind = filled.kind as Kind;
  return { kind, ...Object.fromEntries(FIELDS[kind].map((name) => [name, filled[name] ?? null])) };
}

/** Return an error if a lag condition has no limit, else undefined. */
export function validateLag(filled: Record<string, unknown>): string | undefined {
  const { kind, records, seconds } = filled;
  return kind === 'lag' && (records ?? null) === null && (seconds ?? null) === null ? 'Enter a limit in records, in seconds or both' : undefined;
}
