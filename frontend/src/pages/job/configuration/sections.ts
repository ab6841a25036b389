/** Groups the settings of a spec body into sections of names and values. In a group, known settings come before other settings. Pure. */
import { duration, dropZeroTenths } from '../../../format';
import { checkpointSettings } from '../checkpoints/settings';
import { isObject } from '../physicalGraph';

export interface Section {
  title: string;
  facts: [name: string, value: string][];
}

const TITLES: Record<string, string> = { restart: 'Driver restarts', parameters: 'Parameters', spark_conf: 'Spark settings' };

const time = (s: unknown): string => dropZeroTenths(duration(1000 * Number(s)));

/** Settings that need a specific label or value format. */
const LABELS: Record<string, [name: string, format?: (value: unknown) => string]> = {
  entry: ['Function'],
  master: ['Spark master'],
  spares: ['Spare slots'],
  allow_non_restored_state: ['Non-restored state', (value) => (value === true ? 'allowed' : 'refused')],
  'timeouts.heartbeat': ['Heartbeat timeout'],
  'timeouts.stuck': ['Stuck timeout'],
  'timeouts.call': ['Call timeout'],
  'timeouts.slots': ['Slots timeout'],
  'timeouts.deploy': ['Deploy timeout'],
  'timeouts.cancel': ['Cancel timeout'],
  'timeouts.connect': ['Connect timeout'],
  'restart.attempts': ['Consecutive attempts'],
  'restart.initial_s': ['First delay', time],
  'restart.multiplier': ['Delay factor'],
  'restart.max_s': ['Longest delay', time],
  'restart.reset_after_s': ['Reset after', (value) => `${time(value)} of running`],
};

export function sections(body: Record<string, unknown>): Section[] {
  const plain = Object.entries(body).filter(([, value]) => !isObject(value));
  const found: Section[] = [{ title: 'Deployment', facts: plain.map(([name, value]) => fact(name, name, value)) }];
  for (const [name, value] of Object.entries(body)) {
    if (!isObject(value) || Object.keys(value).length === 0) continue;
    // The names of parameters and Spark settings are user-defined, so show these names unchanged.
    const own = name === 'parameters' || name === 'spark_conf';
    found.push(
      name === 'checkpointing'
        ? { title: 'Checkpointing', facts: checkpointSettings(body) }
        : { title: TITLES[name] ?? labelOf(name), facts: own ? Object.entries(value).map(([key, one]) => [key, shown(one)]) : inOrder(name, value).map(([key, one]) => fact(`${name}.${key}`, key, one)) },
    );
  }
  return found;
}

/** Sort the settings of a group in the order of LABELS, because the API returns settings in no particular order. */
function inOrder(group: string, value: Record<string, unknown>): [string, unknown][] {
  const places = Object.keys(LABELS);
  const rank = (key: string): number => (places.indexOf(`${group}.${key}`) + 1) || Infinity;
  return Object.entries(value).sort(([a], [b]) => Math.sign(rank(a) - rank(b)) || 0);
}

function fact(place: string, name: string, value: unknown): [name: string, value: string] {
  const [title, format] = LABELS[place] ?? [labelOf(name)];
  return [title, (format ?? shown)(value)];
}

/** Return the label of a setting. For example, `reset_after_s` becomes `Reset after (s)`. */
export function labelOf(name: string): string {
  const unit = /_(s|ms|bytes)$/.exec(name)?.[1];
  const words = (unit ? name.slice(0, -unit.length - 1) : name).replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1) + (unit ? ` (${unit})` : '');
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
