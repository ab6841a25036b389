/** The body of a spec as sections of names and values: what is known by name first, whatever else there is after it. Pure. */
import { duration, untenthed } from '../../../format';
import { settings } from '../checkpoints/settings';

export interface Section {
  title: string;
  facts: [name: string, value: string][];
}

const TITLES: Record<string, string> = { restart: 'Restarting the driver', parameters: 'Parameters', spark_conf: 'Spark settings' };

const time = (s: unknown): string => untenthed(duration(1000 * Number(s)));

/** Of what has a better name than its own, and says more than a number. */
const SPELLED: Record<string, [name: string, said?: (value: unknown) => string]> = {
  entry: ['Function'],
  master: ['Spark master'],
  spares: ['Spare slots'],
  allow_non_restored_state: ['State that nothing takes', (value) => (value === true ? 'is left behind' : 'is refused')],
  'restart.attempts': ['Attempts in a row'],
  'restart.initial_s': ['First wait', time],
  'restart.multiplier': ['Each wait', (value) => `${String(value)} times the one before`],
  'restart.max_s': ['Longest wait', time],
  'restart.well_after_s': ['Counted anew after', (value) => `${time(value)} of running`],
};

export function sections(body: Record<string, unknown>): Section[] {
  const plain = Object.entries(body).filter(([, value]) => !isObject(value));
  const found: Section[] = [{ title: 'Deployment', facts: plain.map(([name, value]) => fact(name, name, value)) }];
  for (const [name, value] of Object.entries(body)) {
    if (!isObject(value) || Object.keys(value).length === 0) continue;
    // Names that people chose stay as they wrote them.
    const own = name === 'parameters' || name === 'spark_conf';
    found.push(
      name === 'checkpointing'
        ? { title: 'Checkpointing', facts: settings(body) }
        : { title: TITLES[name] ?? spelled(name), facts: own ? Object.entries(value).map(([key, one]) => [key, shown(one)]) : inOrder(name, value).map(([key, one]) => fact(`${name}.${key}`, key, one)) },
    );
  }
  return found;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** As they are listed above; the API has them in none that means anything. */
function inOrder(group: string, value: Record<string, unknown>): [string, unknown][] {
  const places = Object.keys(SPELLED);
  const rank = (key: string): number => (places.indexOf(`${group}.${key}`) + 1) || Infinity;
  return Object.entries(value).sort(([a], [b]) => Math.sign(rank(a) - rank(b)) || 0);
}

function fact(place: string, name: string, value: unknown): [name: string, value: string] {
  const [title, said] = SPELLED[place] ?? [spelled(name)];
  return [title, (said ?? shown)(value)];
}

/** `well_after_s`: Well after (s). */
export function spelled(name: string): string {
  const unit = /_(s|ms|bytes)$/.exec(name)?.[1];
  const words = (unit ? name.slice(0, -unit.length - 1) : name).replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1) + (unit ? ` (${unit})` : '');
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
