/** The body of a spec as sections of names and values: what is known by name first, whatever else there is after it. */
export interface Section {
  title: string;
  facts: [name: string, value: string][];
}

const TITLES: Record<string, string> = { checkpointing: 'Checkpointing', restart: 'Restarting', parameters: 'Parameters', spark_conf: 'Spark settings' };

export function sections(body: Record<string, unknown>): Section[] {
  const plain = Object.entries(body).filter(([, value]) => !isObject(value));
  const found: Section[] = [{ title: 'Deployment', facts: plain.map(([name, value]) => [spelled(name), shown(value)]) }];
  for (const [name, value] of Object.entries(body)) {
    if (!isObject(value) || Object.keys(value).length === 0) continue;
    // Names that people chose stay as they wrote them.
    const own = name === 'parameters' || name === 'spark_conf';
    found.push({ title: TITLES[name] ?? spelled(name), facts: Object.entries(value).map(([key, one]) => [own ? key : spelled(key), one === null && key === 'tolerable_failed_checkpoints' ? 'any number' : shown(one)]) });
  }
  return found;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

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
